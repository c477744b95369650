package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/internal/waiting"
	"github.com/semel-dev/semel/outbox"
	"github.com/semel-dev/semel/store/sqlitestore"
)

// refuser prints what it publishes, and refuses one message for good.
type refuser string

// Publish implements [outbox.Publisher].
func (r refuser) Publish(_ context.Context, batch []outbox.Message) []error {
	errs := make([]error, len(batch))
	for i, m := range batch {
		if m.ID == string(r) || i > 0 && errs[i-1] != nil && m.Key == batch[i-1].Key {
			errs[i] = outbox.Permanent(errors.New("no such queue"))
			continue
		}
		fmt.Fprintln(os.Stdout, "published", m.ID)
	}
	return errs
}

// runOutboxCommand adds messages of one key to the outbox of an SQLite database, and runs a relay with a store until
// what is left waits for an operator. The publisher refuses one of them.
func runOutboxCommand(args []string) error {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	file, err := os.OpenFile(args[0], os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	db, err := opendb.Open(ctx, "sqlite:"+args[0], opendb.Write)
	if err != nil {
		return err
	}
	defer db.Close()
	out, err := outbox.Open(ctx, db.DB, nil)
	if err != nil {
		return err
	}
	store, err := sqlitestore.Open(ctx, args[1], nil)
	if err != nil {
		return err
	}
	defer store.Close()
	guard, err := semel.New(store, nil)
	if err != nil {
		return err
	}
	defer guard.Close()
	for _, id := range args[3:] {
		if err := out.Add(ctx, db, outbox.Message{ID: id, Topic: "orders.paid", Key: "order-17", Body: []byte("tea")}); err != nil {
			return err
		}
	}
	relay, err := outbox.NewRelay(out, guard, refuser(args[2]), &outbox.RelayOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	running, end := context.WithCancel(ctx)
	defer end()
	ended := make(chan error, 1)
	go func() { ended <- relay.Run(running) }()
	for rests := false; !rests; {
		if rests, err = outboxRests(ctx, out); err != nil || !waiting.Sleep(ctx, patience/1000) {
			return errors.Join(err, ctx.Err())
		}
	}
	end()
	return <-ended
}

// outboxRests reports whether all that is left waits for an operator.
func outboxRests(ctx context.Context, out *outbox.Outbox) (bool, error) {
	held, err := out.List(ctx, 0)
	if err != nil {
		return false, err
	}
	stats, err := out.Stats(ctx)
	for _, h := range held {
		stats.Waiting -= 1 + h.Behind
	}
	return stats.Waiting == 0 && stats.Held == 0, err
}
