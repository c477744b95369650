package semelwatermill_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite" // opens the database of the handler's rows

	"github.com/semel-dev/semel"
	semelwatermill "github.com/semel-dev/semel/adapters/watermill"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
	"github.com/semel-dev/semel/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.Children(map[string]func(context.Context, []string) error{"work": workUntilKilled, "storm": stormWorker})
	goleak.VerifyTestMain(m)
}

// seen counts the verdicts by their reasons.
type seen struct{ handled, duplicate, quarantined atomic.Int32 }

func (s *seen) observe(_ inbox.Message, v inbox.Verdict, _ time.Duration) {
	switch {
	case v.Act == inbox.Quarantine:
		s.quarantined.Add(1)
	case v.Reason == "duplicate":
		s.duplicate.Add(1)
	case v.Act == inbox.Ack:
		s.handled.Add(1)
	}
}

// newInbox asks about messages of unknown outcome: they did not happen.
func newInbox(t *testing.T) (*inbox.Inbox, *seen) {
	t.Helper()
	store := memstore.New(nil)
	claimtest.Closes(t, store)
	guard, err := semel.New(store, nil)
	claimtest.NoError(t, err)
	claimtest.Closes(t, guard)
	s := &seen{}
	in, err := inbox.New(guard, &inbox.Options{
		Consumer: "billing", MaxAttempts: 2, Pause: time.Millisecond, Observe: s.observe, Logger: slog.New(slog.DiscardHandler),
		Ask: func(context.Context, semel.Record, inbox.Message) (semel.Reconciliation, error) {
			return semel.Reconciliation{Verdict: semel.NotHappened}, nil
		},
	})
	claimtest.NoError(t, err)
	return in, s
}

// start runs a router with one handler until the end of the test.
func start(t *testing.T, m message.HandlerMiddleware, handler func(*message.Message) error) *gochannel.GoChannel {
	t.Helper()
	return startOn(t, "orders.paid", m, handler)
}

func startOn(t *testing.T, topic string, m message.HandlerMiddleware, handler func(*message.Message) error) *gochannel.GoChannel {
	t.Helper()
	pubSub := gochannel.NewGoChannel(gochannel.Config{}, nil)
	router, err := message.NewRouter(message.RouterConfig{}, nil)
	claimtest.NoError(t, err)
	router.AddMiddleware(m, middleware.Recoverer)
	router.AddConsumerHandler("charge", topic, pubSub, handler)
	run(t, router)
	claimtest.Closes(t, pubSub)
	return pubSub
}

func run(t *testing.T, router *message.Router) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- router.Run(context.WithoutCancel(t.Context())) }()
	<-router.Running()
	t.Cleanup(func() { claimtest.NoError(t, errors.Join(router.Close(), <-ended)) })
}

// The Deduplicator drops a message whose handler failed, when it comes again. The inbox handles it.
func TestFailedHandlerComesAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		inbox   bool
		failure func() error
		effects int32
	}{
		"Deduplicator, an error":             {false, func() error { return errors.New("no connection") }, 0},
		"inbox, an error":                    {true, func() error { return errors.New("no connection") }, 1},
		"Deduplicator, a crash in its midst": {false, func() error { panic("crash") }, 0},
		"inbox, a crash in its midst":        {true, func() error { panic("crash") }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, _ := newInbox(t)
			m := semelwatermill.Middleware(in.Handle, nil)
			if !c.inbox {
				m = (&middleware.Deduplicator{KeyFactory: middleware.NewMessageHasherSHA256(1 << 20), Repository: &noted{}, Timeout: time.Minute}).Middleware
			}
			var begun, effects atomic.Int32
			pubSub := start(t, m, func(*message.Message) error {
				if begun.Add(1) == 1 {
					return c.failure()
				}
				effects.Add(1)
				return nil
			})
			first := message.NewMessage("1", []byte("order 1"))
			claimtest.NoError(t, pubSub.Publish("orders.paid", first))
			testserver.Eventually(t, "the handler has begun", func() bool { return begun.Load() > 0 })
			// A second message is handled only after the first one was acknowledged.
			claimtest.NoError(t, pubSub.Publish("orders.paid", message.NewMessage("2", []byte("order 2"))))
			testserver.Eventually(t, "both are acknowledged", func() bool { return effects.Load() == c.effects+1 })
		})
	}
}

// noted is a repository without an end.
type noted struct{ keys map[string]bool }

func (n *noted) IsDuplicate(_ context.Context, key string) (bool, error) {
	if n.keys == nil {
		n.keys = map[string]bool{}
	}
	before := n.keys[key]
	n.keys[key] = true
	return before, nil
}

// Messages that come twice take effect once; another body under their id, poison, and one without an id are kept, and none of
// them holds up those behind it.
func TestQuarantineGoesOn(t *testing.T) {
	t.Parallel()
	in, s := newInbox(t)
	var effects atomic.Int32
	pubSub := start(t, semelwatermill.Middleware(in.Handle, nil), func(msg *message.Message) error {
		if string(msg.Payload) == "poison" {
			return errors.New("cannot be read")
		}
		if semel.ClaimFrom(msg.Context()) == nil {
			t.Error("the handler's context is not that of the claim")
		}
		effects.Add(1)
		return nil
	})
	// The channel may hand over messages in any order: the first one decides what the others are.
	claimtest.NoError(t, pubSub.Publish("orders.paid", message.NewMessage("1", []byte("order 1"))))
	testserver.Eventually(t, "the first is settled", func() bool { return s.handled.Load() == 1 })
	for _, m := range []*message.Message{
		message.NewMessage("1", []byte("order 1")), message.NewMessage("1", []byte("order 9")),
		message.NewMessage("2", []byte("poison")), message.NewMessage("", []byte("order 3")), message.NewMessage("4", []byte("order 4")),
	} {
		claimtest.NoError(t, pubSub.Publish("orders.paid", m))
	}
	testserver.Eventually(t, "all are settled", func() bool { return s.handled.Load() == 2 && s.duplicate.Load() == 1 && s.quarantined.Load() == 3 })
	if got := effects.Load(); got != 2 {
		t.Errorf("got %d effects, want 2", got)
	}
}

// With HandleTx, the rows of a handler and the record of its message commit together: a failure leaves none, a repetition adds none.
func TestHandleTx(t *testing.T) {
	t.Parallel()
	c, err := openConsumer(t.Context(), t.TempDir())
	claimtest.NoError(t, err)
	claimtest.Closes(t, c)
	s := &seen{}
	in, err := inbox.New(c.guard, &inbox.Options{Consumer: "billing", Pause: time.Millisecond, Observe: s.observe, Logger: slog.New(slog.DiscardHandler)})
	claimtest.NoError(t, err)
	handle := func(ctx context.Context, m inbox.Message, fn inbox.Handler) inbox.Verdict {
		return in.HandleTx(ctx, c.store.Transactor(), m, fn)
	}
	var begun atomic.Int32
	pubSub := start(t, semelwatermill.Middleware(handle, nil), func(msg *message.Message) error {
		_, err := sqlitetx.TxFrom(msg.Context()).ExecContext(msg.Context(), "INSERT INTO effects VALUES (?)", string(msg.Payload))
		if begun.Add(1) == 1 {
			err = errors.New("no connection") // after the row
		}
		return err
	})
	for range 2 {
		claimtest.NoError(t, pubSub.Publish("orders.paid", message.NewMessage("1", []byte("order 1"))))
	}
	testserver.Eventually(t, "both are settled", func() bool { return s.handled.Load() == 1 && s.duplicate.Load() == 1 })
	claimtest.WantRows(t, c.db, "SELECT message FROM effects", "order 1")
	if n := begun.Load(); n != 2 {
		t.Errorf("got %d attempts, want two", n)
	}
}

// Messages that a handler returns could be lost, so its own message is kept for an operator instead of lost in silence.
func TestReturnedMessages(t *testing.T) {
	t.Parallel()
	store := memstore.New(nil)
	claimtest.Closes(t, store)
	guard, err := semel.New(store, nil)
	claimtest.NoError(t, err)
	claimtest.Closes(t, guard)
	s := &seen{}
	in, err := inbox.New(guard, &inbox.Options{Consumer: "billing", Observe: s.observe, Logger: slog.New(slog.DiscardHandler)})
	claimtest.NoError(t, err)
	h := semelwatermill.Middleware(in.Handle, &semelwatermill.Options{ID: func(msg *message.Message) string { return msg.Metadata.Get("order") }})(
		func(msg *message.Message) ([]*message.Message, error) { return message.Messages{msg.Copy()}, nil })
	msg := message.NewMessage("", []byte("order 1"))
	msg.Metadata.Set("order", "17")
	produced, err := h(msg)
	if err != nil || len(produced) != 0 || s.quarantined.Load() != 1 {
		t.Errorf("got %d messages, error %v, %d in quarantine, want the message in quarantine", len(produced), err, s.quarantined.Load())
	}
}
