package inbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// ship asks the warehouse, elsewhere.
func ship(_ context.Context, m inbox.Message) error {
	fmt.Printf("ship %s\n", m.Body)
	return nil
}

func ExampleInbox_Handle() {
	guard, err := semel.New(memstore.New(nil), nil) // or a store that survives a restart
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close()
	in, err := inbox.New(guard, &inbox.Options{Consumer: "warehouse"})
	if err != nil {
		fmt.Println(err)
		return
	}
	m := inbox.Message{ID: "order-17", Subject: "orders.paid", Body: []byte("tea")}
	for range 2 { // the broker delivers it twice
		v := in.Handle(context.Background(), m, ship)
		fmt.Println(v.Act, v.Reason)
	}
	// Output:
	// ship tea
	// ack handled
	// ack duplicate
}

func ExampleNew() {
	guard, err := semel.New(memstore.New(nil), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close()
	verdicts := map[inbox.Reason]int{} // a counter of your metrics
	in, err := inbox.New(guard, &inbox.Options{
		Consumer:   "warehouse",
		Retention:  7 * 24 * time.Hour,
		Redelivery: 3 * 24 * time.Hour, // the stream's age limit
		Observe:    func(_ inbox.Message, v inbox.Verdict, _ time.Duration) { verdicts[v.Reason]++ },
		Logger:     slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	in.Handle(context.Background(), inbox.Message{Body: []byte("no ID")}, ship)
	fmt.Println(verdicts)
	// Output: map[no-id:1]
}

func ExampleInbox_HandleTx() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:") // or a file
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // because it lies in memory
	if _, err := db.ExecContext(ctx, "CREATE TABLE shipments (item TEXT)"); err != nil {
		fmt.Println(err)
		return
	}
	store, err := sqlitetx.Open(ctx, db, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	guard, err := semel.New(store, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close()
	in, err := inbox.New(guard, &inbox.Options{Consumer: "warehouse"})
	if err != nil {
		fmt.Println(err)
		return
	}
	insert := func(ctx context.Context, m inbox.Message) error {
		_, err := sqlitetx.TxFrom(ctx).ExecContext(ctx, "INSERT INTO shipments VALUES (?)", string(m.Body))
		return err
	}
	m := inbox.Message{ID: "order-17", Body: []byte("tea"), Deliveries: 1}
	for range 2 {
		fmt.Println(in.HandleTx(ctx, store.Transactor(), m, insert).Reason)
	}
	var n int
	err = db.QueryRowContext(ctx, "SELECT COUNT(*) FROM shipments").Scan(&n)
	fmt.Println(n, "shipment", err)
	// Output:
	// handled
	// duplicate
	// 1 shipment <nil>
}

func ExampleInbox_Released() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	guard, err := semel.New(memstore.New(nil), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close()
	in, err := inbox.New(guard, &inbox.Options{Consumer: "warehouse", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	v := in.Handle(ctx, inbox.Message{ID: "order-17", Body: []byte("tea")}, func(context.Context, inbox.Message) error {
		return semel.MarkFinal(errors.New("no such item"))
	})
	fmt.Println(v.Act, v.Reason)

	// An operator adds the item, and releases the message: semel inbox quarantine release.
	by := operator.Identity{Name: "Grace"}
	_, err = inbox.List(ctx, guard, "warehouse", operator.Search{}, func(h *inbox.Held) error {
		_, err := inbox.Release(ctx, guard, by, h.Digest, "the item is there now")
		return err
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	err = in.Released(ctx, time.Millisecond, func(ctx context.Context, m inbox.Message) inbox.Verdict {
		defer stop() // an application goes on
		return in.Handle(ctx, m, ship)
	})
	fmt.Println(err)
	// Output:
	// quarantine final
	// ship tea
	// <nil>
}

func ExampleDrop() {
	ctx := context.Background()
	guard, err := semel.New(memstore.New(nil), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close()
	in, err := inbox.New(guard, &inbox.Options{Consumer: "warehouse", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	in.Handle(ctx, inbox.Message{Body: []byte("no ID")}, ship) // returns the verdict for the driver
	_, err = inbox.List(ctx, guard, "warehouse", operator.Search{}, func(h *inbox.Held) error {
		dropped, err := inbox.Drop(ctx, guard, operator.Identity{Name: "Grace"}, h.Digest, "a test message")
		if err == nil {
			fmt.Println(dropped.Reason, dropped.Decision)
		}
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: no-id dropped
}

// poisoned returns a guard with a message in quarantine.
func poisoned() (*semel.Guard, error) {
	guard, err := semel.New(memstore.New(nil), nil)
	if err != nil {
		return nil, err
	}
	in, err := inbox.New(guard, &inbox.Options{Consumer: "warehouse", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, errors.Join(err, guard.Close())
	}
	in.Handle(context.Background(), inbox.Message{ID: "order-17", Subject: "orders.paid", Body: []byte("tea")}, func(context.Context, inbox.Message) error {
		return semel.MarkFinal(errors.New("no such item"))
	})
	return guard, nil
}

// A program of your own shows what semel inbox quarantine list does.
func ExampleList() {
	ctx := context.Background()
	guard, err := poisoned()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close()
	at, err := inbox.List(ctx, guard, "warehouse", operator.Search{Examine: 10_000}, func(h *inbox.Held) error {
		fmt.Printf("%s %s: %s (%s), attempts: %d\n", h.Message.Subject, h.Message.ID, h.Reason, h.Why, h.Attempts)
		return nil
	})
	fmt.Println(at.Next == "", err) // otherwise Next is the After of the next search
	// Output:
	// orders.paid order-17: final (no such item), attempts: 1
	// true <nil>
}

// Two operators release a message, which a running [inbox.Inbox.Released] then handles; the second one learns of the first.
func ExampleRelease() {
	ctx := context.Background()
	guard, err := poisoned()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close()
	var waiting []semel.Digest
	_, err = inbox.List(ctx, guard, "warehouse", operator.Search{}, func(h *inbox.Held) error {
		waiting = append(waiting, h.Digest)
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"Grace", "Edsger"} {
		h, err := inbox.Release(ctx, guard, operator.Identity{Name: name}, waiting[0], "the item is there now")
		fmt.Println(h.Decision, errors.Is(err, semel.ErrSettled))
	}
	// Output:
	// released false
	// released true
}
