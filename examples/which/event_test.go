package which_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// printer is a broker.
type printer chan struct{}

// Publish returns nil: all of the batch has arrived.
func (p printer) Publish(_ context.Context, batch []outbox.Message) []error {
	for _, m := range batch {
		fmt.Println("published:", m.Topic, m.Key)
	}
	close(p)
	return nil
}

// An event is sent if and only if its transaction commits, and once for a double click.
func Example_event() {
	ctx, stop := context.WithCancel(context.Background())
	s := open(ctx)
	defer s.close()
	out, err := outbox.Open(ctx, s.db, nil)
	check(err)

	in := Order{Customer: "Ada", Item: "tea", Coupon: "SPRING", Price: 300}
	order := func(ctx context.Context, tx *sql.Tx) (Receipt, error) {
		receipt, err := createOrder(ctx, tx, in)
		if err != nil {
			return Receipt{}, err
		}
		return receipt, out.Add(ctx, tx, outbox.Message{Topic: "orders.created", Key: fmt.Sprint("order-", receipt.Order)})
	}
	for range 2 {
		receipt, err := sqlitetx.Do(ctx, s.guard, semel.Key{Scope: "user-4711 orders", Name: "8e03978e"}, semel.Fingerprint{1}, order)
		fmt.Println(receipt, err)
	}

	broker := make(printer)
	relay, err := outbox.NewRelay(out, s.guard, broker, nil) // in as many processes as there are
	check(err)
	ended := make(chan error)
	go func() { ended <- relay.Run(ctx) }()
	<-broker
	stop()
	fmt.Println(<-ended)
	// Output:
	// {1 30} <nil>
	// {1 30} <nil>
	// published: orders.created order-1
	// <nil>
}
