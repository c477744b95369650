package natsjs_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/semel-dev/semel"
	natsjs "github.com/semel-dev/semel/adapters/nats"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// Of two consumers that get a message whose producer sent it twice, one handles it, in a transaction. The other one is refused for as
// long as that takes, as often as there are attempts and once more, and uses none up: after the first has failed, there is one left.
func TestTwins(t *testing.T) {
	t.Parallel()
	js := connect(t, testserver.StartNATS(t, nil).Addr())
	makeStream(t, js, "twins", jetstream.ConsumerConfig{AckWait: 2 * time.Second})
	for range 2 {
		_, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: "twins", Header: nats.Header{natsjs.IDHeader: {"order-17"}}})
		must(t, err)
	}
	store, err := pgstore.Open(t.Context(), testserver.PostgresDatabase(t), nil)
	must(t, err)
	t.Cleanup(func() { _ = store.Close() })
	_, err = store.Pool().Exec(t.Context(), "CREATE TABLE effects (message TEXT NOT NULL)")
	must(t, err)
	guard, err := semel.New(store, &semel.Options{SweepEvery: -1})
	must(t, err)
	t.Cleanup(func() { _ = guard.Close() })

	const attempts = 2
	ctx, cancel := context.WithCancel(t.Context())
	var refused, ended, ran atomic.Int32
	waits := make(chan struct{})
	goOn := sync.OnceFunc(func() { close(waits) })
	t.Cleanup(goOn)
	in, err := inbox.New(guard, &inbox.Options{Consumer: "billing", MaxAttempts: attempts, Pause: time.Millisecond, Observe: func(_ inbox.Message, v inbox.Verdict, _ time.Duration) {
		switch {
		case v.Reason == "in-flight" && refused.Add(1) == attempts+1:
			goOn()
		case v.Act == inbox.Ack && ended.Add(1) == 2:
			cancel()
		case v.Act == inbox.Quarantine:
			t.Errorf("the message is in quarantine: %s, %v", v.Reason, v.Err)
			cancel()
		}
	}})
	must(t, err)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			source := natsjs.Source{JetStream: js, Stream: "twins", Consumer: consumerName}
			err := natsjs.Consume(ctx, source, func(ctx context.Context, m inbox.Message) inbox.Verdict {
				return in.HandleTx(ctx, store.Transactor(nil), m, func(ctx context.Context, m inbox.Message) error {
					if ran.Add(1) == 1 {
						<-waits
						return errors.New("the database is away")
					}
					_, err := pgstore.TxFrom(ctx).Exec(ctx, "INSERT INTO effects (message) VALUES ($1)", m.ID)
					return err
				})
			}, &natsjs.ConsumeOptions{Concurrency: 1, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var effects int
	must(t, store.Pool().QueryRow(t.Context(), "SELECT count(*) FROM effects").Scan(&effects))
	if effects != 1 || ran.Load() != attempts {
		t.Errorf("%d effects of %d runs, want one of %d", effects, ran.Load(), attempts)
	}
}
