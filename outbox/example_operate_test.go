package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/store/memstore"
)

// noQueue is a publisher that can publish nothing, for good.
type noQueue struct{}

// Publish implements [outbox.Publisher].
func (noQueue) Publish(_ context.Context, batch []outbox.Message) []error {
	errs := make([]error, len(batch))
	for i := range batch {
		errs[i] = outbox.Permanent(errors.New("no such queue"))
	}
	return errs
}

// withStopped calls show with an outbox in which the message order-17 is stopped, with order-18 of its key
// behind it.
func withStopped(show func(ctx context.Context, out *outbox.Outbox, guard *semel.Guard)) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	folder, err := os.MkdirTemp("", "outbox")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "shop.db")+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	out, err := outbox.Open(ctx, db, nil)
	if err != nil {
		panic(err)
	}
	guard, err := semel.New(memstore.New(nil), nil)
	if err != nil {
		panic(err)
	}
	defer guard.Close()
	if err := out.Add(ctx, db, outbox.Message{ID: "order-17", Topic: "orders", Key: "k"}, outbox.Message{ID: "order-18", Topic: "orders", Key: "k"}); err != nil {
		panic(err)
	}
	relay, err := outbox.NewRelay(out, guard, noQueue{}, &outbox.RelayOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	running, end := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- relay.Run(running) }()
	for stopped := int64(0); stopped == 0; <-time.After(10 * time.Millisecond) {
		stats, err := out.Stats(ctx)
		if err != nil {
			panic(err)
		}
		stopped = stats.Stopped
	}
	end()
	<-ended
	show(ctx, out, guard)
}

func ExampleOutbox_List() {
	withStopped(func(ctx context.Context, out *outbox.Outbox, _ *semel.Guard) {
		held, err := out.List(ctx, 10)
		for _, h := range held {
			fmt.Printf("%s is %s: %s; %d behind it\n", h.ID, h.State, h.Error, h.Behind)
		}
		fmt.Println(err)
	})
	// Output:
	// order-17 is stopped: no such queue; 1 behind it
	// <nil>
}

// The queue exists now: the message and those behind it are published.
func ExampleOutbox_Release() {
	withStopped(func(ctx context.Context, out *outbox.Outbox, guard *semel.Guard) {
		alice := operator.Identity{Name: "alice", Via: "back office"}
		fmt.Println(out.Release(ctx, guard, alice, "order-17", "the queue exists now"))
		held, err := out.List(ctx, 10)
		fmt.Println(held[0].State, err)
	})
	// Output:
	// <nil>
	// waiting <nil>
}

// The receiver has it from elsewhere: its key goes on without it.
func ExampleOutbox_Skip() {
	withStopped(func(ctx context.Context, out *outbox.Outbox, guard *semel.Guard) {
		alice := operator.Identity{Name: "alice", Via: "back office"}
		fmt.Println(out.Skip(ctx, guard, alice, "order-17", "she has it from the report", 24*time.Hour))
		held, err := out.List(ctx, 10)
		for _, h := range held {
			fmt.Println(h.ID, h.State)
		}
		fmt.Println(err)
	})
	// Output:
	// <nil>
	// order-18 waiting
	// order-17 skipped
	// <nil>
}

func ExampleOutbox_Stats() {
	withStopped(func(ctx context.Context, out *outbox.Outbox, _ *semel.Guard) {
		stats, err := out.Stats(ctx)
		fmt.Println(stats.Waiting, stats.Stopped, err)
	})
	// Output: 2 1 <nil>
}

// The tables as a migration of one's own.
func ExampleSchema() {
	text, err := outbox.Schema("postgresql", "shop.outbox")
	fmt.Println(strings.Count(text, "CREATE TABLE"), err)
	_, err = outbox.Schema("oracle", "")
	fmt.Println(err != nil)
	// Output:
	// 3 <nil>
	// true
}

// A publisher tells the relay not to try a message again.
func ExamplePermanent() {
	refused := errors.New("no such queue")
	err := outbox.Permanent(refused)
	fmt.Println(err, errors.Is(err, refused))
	// Output: no such queue true
}

// A publisher tells the relay that it did not try a message, and when to do so.
func ExamplePostponed() {
	err := outbox.Postponed(errors.New("the receiver rests"), time.Minute)
	var later interface{ RetryAfter() time.Duration }
	fmt.Println(err, errors.As(err, &later), later.RetryAfter())
	// Output: the receiver rests true 1m0s
}

// A transaction of pgx.
func ExamplePgx() { //nolint:testableexamples // it needs a server
	add := func(ctx context.Context, pool *pgxpool.Pool, out *outbox.Outbox) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "INSERT INTO orders (id) VALUES ($1)", 17); err != nil {
				return err
			}
			return out.Add(ctx, outbox.Pgx(tx), outbox.Message{Topic: "orders.created", Key: "order-17"})
		})
	}
	_ = add
}
