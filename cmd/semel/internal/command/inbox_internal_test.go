package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/store/sqlitestore"
)

// fillInboxCommand is a consumer that cannot handle two messages, and then handles those that were released.
func fillInboxCommand(args []string) error {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	store, err := sqlitestore.Open(ctx, args[0], nil)
	if err != nil {
		return err
	}
	defer store.Close()
	guard, err := semel.New(store, nil)
	if err != nil {
		return err
	}
	defer guard.Close()
	in, err := inbox.New(guard, &inbox.Options{Consumer: "billing", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	fails := func(context.Context, inbox.Message) error { return semel.MarkFinal(errors.New("no such customer")) }
	for _, m := range []inbox.Message{
		{
			ID: "paid-17", Subject: "orders.paid", Key: []byte("k"), Body: []byte("tea"), Header: map[string]string{"trace": "1"},
			Repeated: map[string][]string{"trace": {"1", "2"}}, Time: time.Unix(1764291723, 0), Deliveries: 2,
		}, {Subject: "orders.paid", Body: []byte("?")},
	} {
		v := in.Handle(ctx, m, fails)
		fmt.Fprintln(os.Stdout, v.Act, v.Reason)
	}
	ctx, stop = context.WithTimeout(ctx, 2*time.Second)
	defer stop()
	return in.Released(ctx, 20*time.Millisecond, func(ctx context.Context, m inbox.Message) inbox.Verdict {
		return in.Handle(ctx, m, func(context.Context, inbox.Message) error {
			fmt.Fprintln(os.Stdout, "handled", m.ID)
			return nil
		})
	})
}
