package effects_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/effects"
	"github.com/semel-dev/semel/internal/dialect"
)

// everything fills in no values: all effects are counted.
func everything(text string) string { return text }

func ExampleJSON() {
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"total": 2, "orders": [{"number": 16}, {"number": 17}]}`)
	}))
	defer shop.Close()
	for _, pointer := range []string{"/total", "/orders", "/sum"} {
		orders, err := effects.JSON(nil, shop.URL+"/orders", pointer, nil)
		if err != nil {
			panic(err)
		}
		fmt.Println(orders.Count(context.Background(), everything))
	}
	// Output:
	// 2 <nil>
	// 2 <nil>
	// 0 there is nothing at /sum: the top has /orders, /total
}

func ExampleHeader() {
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Total-Count", "17")
	}))
	defer shop.Close()
	orders, err := effects.Header(nil, shop.URL+"/orders?limit=1", "X-Total-Count", nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(orders.Count(context.Background(), everything))
	// Output: 17 <nil>
}

func ExampleHTML() {
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<table id=orders><tbody><tr><td>16<tr><td>17</table>`)
	}))
	defer shop.Close()
	orders, err := effects.HTML(nil, shop.URL+"/orders", "#orders tbody tr", nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(orders.Count(context.Background(), everything))
	// Output: 2 <nil>
}

func ExampleSQL() {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection to :memory: is a database of its own
	for _, statement := range []string{"CREATE TABLE orders (number integer)", "INSERT INTO orders VALUES (16), (17), (17)"} {
		if _, err := db.ExecContext(context.Background(), statement); err != nil {
			panic(err)
		}
	}
	orders, err := effects.SQL("shop", db, dialect.SQLite, "SELECT count(*) FROM orders WHERE number = {{n}}")
	if err != nil {
		panic(err)
	}
	fmt.Println(orders.Name(), orders.PerIntent())
	fmt.Println(orders.Count(context.Background(), check.Values{"n": "17"}.Fill))
	// Output:
	// the query in shop true
	// 2 <nil>
}

func ExampleLines() {
	dir, err := os.MkdirTemp("", "orders-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	log := filepath.Join(dir, "shop.log")
	if err := os.WriteFile(log, []byte("start\norder 16\norder 17\n"), 0o600); err != nil {
		panic(err)
	}
	orders, err := effects.Lines(log, "order ")
	if err != nil {
		panic(err)
	}
	fmt.Println(orders.Count(context.Background(), everything))
	// Output: 2 <nil>
}

func ExampleCommand() {
	one, err := effects.Command("echo", "{{n}}")
	if err != nil {
		panic(err)
	}
	fmt.Println(one.Name(), one.PerIntent())
	fmt.Println(one.Count(context.Background(), check.Values{"n": "17"}.Fill))
	// Output:
	// the output of echo true
	// 17 <nil>
}
