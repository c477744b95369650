package flow_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// purchase is a customer's wish.
type purchase struct {
	Customer, Item string
	Price          int
}

func insertOrder(ctx context.Context, p purchase) (int64, error) {
	res, err := sqlitetx.TxFrom(ctx).ExecContext(ctx, "INSERT INTO orders (customer, item) VALUES (?, ?)", p.Customer, p.Item)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

func cancelOrder(ctx context.Context, id int64) error {
	_, err := sqlitetx.TxFrom(ctx).ExecContext(ctx, "DELETE FROM orders WHERE id = ?", id)
	return err
}

// charge asks a payment service, with a key that it recognises.
func charge(ctx context.Context, p purchase) (string, error) {
	if p.Price > 100 {
		return "", semel.MarkFinal(errors.New("the card is declined"))
	}
	fmt.Println("the service is asked once, with a key of", len(flow.KeyFrom(ctx)), "digits")
	return "charge-1", nil
}

var buy = flow.Define("buy", func(r *flow.Run, p purchase) (string, error) {
	id, err := flow.Tx(r, "insert order", p, insertOrder, flow.Undo(cancelOrder))
	if err != nil {
		return "", err
	}
	paid, err := flow.Call(r, "charge", p, charge, flow.CalleeDedupes(24*time.Hour))
	return fmt.Sprintf("order %d, %s", id, paid), err
})

// openOrders is an application with a database of its own.
func openOrders(ctx context.Context, defs ...flow.Defined) (*sql.DB, *flow.Flows, func(), error) {
	db, err := sql.Open("sqlite", ":memory:") // or a file
	if err != nil {
		return nil, nil, nil, err
	}
	db.SetMaxOpenConns(1) // because it lies in memory
	if _, err := db.ExecContext(ctx, "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, item TEXT)"); err != nil {
		return nil, nil, nil, err
	}
	store, err := sqlitetx.Open(ctx, db, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	guard, err := semel.New(store, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	flows, err := flow.New(guard, &flow.Options{Transactor: store.Transactor()}, append(defs, buy)...)
	return db, flows, func() { _, _, _ = guard.Close(), store.Close(), db.Close() }, err
}

func ExampleStart() {
	ctx := context.Background()
	_, flows, end, err := openOrders(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer end()

	key := semel.Key{Scope: "user-4711 orders", Name: "8e03978e"}
	for range 2 { // a double click
		fmt.Println(flow.Start(ctx, flows, buy, key, purchase{Customer: "Ada", Item: "tea", Price: 30}))
	}
	// Output:
	// the service is asked once, with a key of 64 digits
	// order 1, charge-1 <nil>
	// order 1, charge-1 <nil>
}

func ExampleUndo() {
	ctx := context.Background()
	db, flows, end, err := openOrders(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer end()

	key := semel.Key{Scope: "user-4711 orders", Name: "5d1a90f2"}
	_, err = flow.Start(ctx, flows, buy, key, purchase{Customer: "Ada", Item: "piano", Price: 9000})
	fmt.Println(err)
	var n int
	err = db.QueryRowContext(ctx, "SELECT COUNT(*) FROM orders").Scan(&n)
	fmt.Println(n, "orders", err)
	// Output:
	// flow buy failed: the card is declined (undone: insert order)
	// 0 orders <nil>
}

func ExampleFinish() {
	ctx := context.Background()
	order := flow.Define("order", func(r *flow.Run, p purchase) (int64, error) {
		if _, err := flow.Call(r, "reserve", p, func(context.Context, purchase) (string, error) { return "reserved", nil }); err != nil {
			return 0, err
		}
		return flow.Finish(r, "insert order", p, insertOrder)
	})
	_, flows, end, err := openOrders(ctx, order)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer end()
	for range 2 {
		fmt.Println(flow.Start(ctx, flows, order, semel.Key{Scope: "user-4711 orders", Name: "2b61"}, purchase{Customer: "Ada", Item: "tea", Price: 30}))
	}
	// Output:
	// 1 <nil>
	// 1 <nil>
}

func ExampleEach() {
	reserve := flow.Define("reserve", func(r *flow.Run, items []string) ([]string, error) {
		return flow.Each(r, "reserve", items, func(name, item string) (string, error) {
			return flow.Call(r, name, item, func(_ context.Context, item string) (string, error) { return item + " is reserved", nil })
		})
	})
	guard, err := semel.New(memstore.New(nil), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close()
	flows, err := flow.New(guard, nil, reserve)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(flow.Start(context.Background(), flows, reserve, semel.Key{Scope: "user-4711", Name: "77c1"}, []string{"tea", "cup"}))
	// Output: [tea is reserved cup is reserved] <nil>
}

func ExampleAsk() {
	charges := map[string]string{} // what the service knows
	pay := flow.Define("pay", func(r *flow.Run, amount int) (string, error) {
		return flow.Call(r, "charge", amount, func(ctx context.Context, amount int) (string, error) {
			charges[flow.KeyFrom(ctx)] = fmt.Sprintf("charge of %d", amount)
			return "", errors.New("the connection broke before the answer")
		}, flow.Ask(func(ctx context.Context) (string, semel.Verdict, error) {
			if id, ok := charges[flow.KeyFrom(ctx)]; ok {
				return id, semel.Happened, nil
			}
			return "", semel.NotHappened, nil
		}))
	})
	guard, err := semel.New(memstore.New(nil), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close()
	flows, err := flow.New(guard, nil, pay)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		fmt.Println(flow.Start(context.Background(), flows, pay, semel.Key{Scope: "user-4711", Name: "90ab"}, 30))
	}
	fmt.Println(len(charges), "charge")
	// Output:
	// flow pay: step "charge" did not finish, a retry with the same key goes on: the connection broke before the answer
	// charge of 30 <nil>
	// 1 charge
}
