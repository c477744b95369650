package outbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/store/memstore"
)

// printer is a publisher; those of brokers are in the adapters.
type printer chan string

// Publish implements [outbox.Publisher].
func (p printer) Publish(_ context.Context, batch []outbox.Message) []error {
	for _, m := range batch {
		p <- fmt.Sprintf("%s %s: %s", m.Topic, m.Key, m.Body)
	}
	return nil
}

// The statement of a message travels with those of its transaction: with pgx in one batch, which is one round trip.
func ExampleOutbox_Statement() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", "file:statement?mode=memory&cache=shared")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	out, err := outbox.Open(ctx, db, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	query, args, err := out.Statement(ctx, outbox.Message{Topic: "orders.created", Key: "order-17", Body: []byte(`{"total":30}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = db.ExecContext(ctx, query, args...) // with pgx: batch.Queue(query, args...)
	stats, statsErr := out.Stats(ctx)
	fmt.Println(stats.Waiting, "waits", err, statsErr)
	// Output:
	// 1 waits <nil> <nil>
}

// An order and its message are committed together; the relay publishes the message.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	folder, err := os.MkdirTemp("", "outbox")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "shop.db")+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	out, err := outbox.Open(ctx, db, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	guard, err := semel.New(memstore.New(nil), nil) // of several processes: a store that they share
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close()
	published := make(printer, 1)
	relay, err := outbox.NewRelay(out, guard, published, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error)
	go func() { ended <- relay.Run(ctx) }()

	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = out.Add(ctx, tx, outbox.Message{Topic: "orders.created", Key: "order-17", Body: []byte(`{"total":30}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tx.Commit())
	relay.Wake()
	fmt.Println(<-published)
	stop()
	fmt.Println(<-ended)
	// Output:
	// <nil>
	// orders.created order-17: {"total":30}
	// <nil>
}
