package which_test

import (
	"context"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/store/memstore"
)

// A message of a broker, which comes again when an acknowledgement is lost or a consumer dies.
func Example_message() {
	ctx := context.Background()
	guard, err := semel.New(memstore.New(nil), nil)
	check(err)
	defer guard.Close()
	shipped := 0
	ship := func(context.Context, inbox.Message) error {
		shipped++
		return nil
	}

	in, err := inbox.New(guard, &inbox.Options{Consumer: "warehouse"})
	check(err)
	deliver := func(m inbox.Message) {
		v := in.Handle(ctx, m, ship)
		fmt.Println(v.Act, v.Reason) // the driver acknowledges, gives it back after v.After, or sets it aside
	}

	deliver(inbox.Message{ID: "order-17-paid", Subject: "orders.paid", Body: []byte("tea")})
	deliver(inbox.Message{ID: "order-17-paid", Subject: "orders.paid", Body: []byte("tea")})    // the acknowledgement was lost
	deliver(inbox.Message{ID: "order-17-paid", Subject: "orders.paid", Body: []byte("coffee")}) // an id that was used
	fmt.Println(shipped, "shipped")
	// Output:
	// ack handled
	// ack duplicate
	// quarantine mismatch
	// 1 shipped
}
