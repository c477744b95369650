package which_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// createOrder is the whole operation in one transaction.
func createOrder(ctx context.Context, tx *sql.Tx, in Order) (Receipt, error) {
	id, err := exec(ctx, tx, "INSERT INTO orders (customer, item) VALUES (?, ?)", in.Customer, in.Item)
	if err != nil {
		return Receipt{}, err
	}
	if _, err := exec(ctx, tx, "UPDATE stock SET left = left - 1 WHERE item = ?", in.Item); err != nil {
		return Receipt{}, err
	}
	if _, err := exec(ctx, tx, "UPDATE coupons SET used_by = ? WHERE code = ? AND used_by IS NULL", id, in.Coupon); err != nil {
		return Receipt{}, err
	}
	_, err = exec(ctx, tx, "UPDATE points SET points = points + ? WHERE customer = ?", in.Price/10, in.Customer)
	return Receipt{Order: id, Points: in.Price / 10}, err
}

// Order, stock, coupon and points lie in one database: one transaction holds all of
// them and the answer. There is nothing to undo, and nothing is ever unknown.
func Example_oneDatabase() {
	ctx := context.Background()
	s := open(ctx)
	defer s.close()

	in := Order{Customer: "Ada", Item: "tea", Coupon: "SPRING", Price: 300}
	key := semel.Key{Scope: "user-4711 orders", Name: "8e03978e"}
	asked := semel.FingerprintOf(fmt.Sprint(in))
	for range 2 { // a double click
		receipt, err := sqlitetx.Do(ctx, s.guard, key, asked, func(ctx context.Context, tx *sql.Tx) (Receipt, error) {
			return createOrder(ctx, tx, in)
		})
		fmt.Println(receipt, err)
	}
	s.print(ctx, "order", "SELECT COUNT(*) FROM orders")
	s.print(ctx, "left", "SELECT left FROM stock")
	// Output:
	// {1 30} <nil>
	// {1 30} <nil>
	// 1 order
	// 9 left
}

// The same where the stock is another database, and the points are a service's.
func Example_createOrderAsAFlow() {
	ctx := context.Background()
	s, warehouse := open(ctx), open(ctx)
	defer s.close()
	defer warehouse.close()
	points := &service{}

	order := s.orderFlow(warehouse, points)
	flows := s.flows(order)
	in := Order{Customer: "Ada", Item: "tea", Coupon: "SPRING", Price: 300}
	key := semel.Key{Scope: "user-4711 orders", Name: "8e03978e"}
	points.down = true
	fmt.Println(start(ctx, flows, order, key, in))
	points.down = false
	fmt.Println(start(ctx, flows, order, key, in)) // the retry goes on where the first attempt ended
	fmt.Println(start(ctx, flows, order, key, in)) // and a late one gets the answer

	sold := Order{Customer: "Bob", Item: "coffee", Coupon: "SPRING", Price: 300}
	fmt.Println(start(ctx, flows, order, semel.Key{Scope: "user-4712 orders", Name: "1b22"}, sold))
	s.print(ctx, "order", "SELECT COUNT(*) FROM orders WHERE status = 'open'")
	warehouse.print(ctx, "left", "SELECT left FROM stock")
	fmt.Println(points.sum, "points")
	// Output:
	// {0 0} flow create order: step "add points" did not finish, a retry with the same key goes on: the service is down
	// {1 30} <nil>
	// {1 30} <nil>
	// {0 0} flow create order failed: coffee is sold out (undone: insert order)
	// 1 order
	// 9 left
	// 30 points
}
