package oracle_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/oracle"
)

func ExampleJSON() {
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"total": 2, "orders": [{"number": 16}, {"number": 17}]}`)
	}))
	defer shop.Close()
	everything := func(text string) string { return text }
	for _, pointer := range []string{"/total", "/orders", "/sum"} {
		orders, err := oracle.JSON(nil, shop.URL+"/orders", pointer, nil)
		if err != nil {
			panic(err)
		}
		fmt.Println(orders.Count(context.Background(), everything))
	}
	// Output:
	// 2 <nil>
	// 2 <nil>
	// 0 nothing stands at /sum: the top has /orders, /total
}

func ExampleCommand() {
	one, err := oracle.Command("echo", "{{n}}")
	if err != nil {
		panic(err)
	}
	fmt.Println(one.Name(), one.PerIntent())
	fmt.Println(one.Count(context.Background(), check.Values{"n": "17"}.Fill))
	// Output:
	// what echo prints true
	// 17 <nil>
}
