package semelwatermill_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/semel-dev/semel"
	semelwatermill "github.com/semel-dev/semel/adapters/watermill"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/memstore"
)

// post is a message to a consumer.
type post struct{ consumer, topic, uuid, payload string }

// TestNames proves docs/names.md.
func TestNames(t *testing.T) {
	t.Parallel()
	first := post{"billing", "orders", "1", "order 1"}
	other := func(change func(*post)) claimtest.Proof {
		second := first
		change(&second)
		return func(t *testing.T) (int, int) {
			t.Helper()
			return receiveBoth(t, first, second)
		}
	}
	claimtest.Names(t, "Watermill", map[string]claimtest.Proof{
		"consumer":        other(func(p *post) { p.consumer = "shipping" }),
		"UUID":            other(func(p *post) { p.uuid = "2" }),
		"delivered again": other(func(*post) {}),
		"topic":           other(func(p *post) { p.topic = "returns" }),
		"payload":         other(func(p *post) { p.payload = "order 9" }),
	})
}

// receiveBoth publishes messages, each after the one before was acknowledged, and returns how many were handled, and how many are in quarantine.
func receiveBoth(t *testing.T, posts ...post) (handled, quarantined int) {
	t.Helper()
	store := memstore.New(nil)
	claimtest.Closes(t, store)
	guard := claimtest.Guard(t, store, nil)
	verdicts := make(chan inbox.Verdict, 8)
	for _, p := range posts {
		in, err := inbox.New(guard, &inbox.Options{
			Consumer: p.consumer, Logger: slog.New(slog.DiscardHandler), Observe: func(_ inbox.Message, v inbox.Verdict, _ time.Duration) { verdicts <- v },
		})
		claimtest.NoError(t, err)
		pubSub := startOn(t, p.topic, semelwatermill.Middleware(in.Handle, nil), func(msg *message.Message) error {
			if semel.ClaimFrom(msg.Context()) != nil {
				handled++
			}
			return nil
		})
		claimtest.NoError(t, pubSub.Publish(p.topic, message.NewMessage(p.uuid, []byte(p.payload))))
		testserver.Eventually(t, "a verdict", func() bool { return len(verdicts) > 0 })
		if v := <-verdicts; v.Act == inbox.Quarantine {
			quarantined++
		}
	}
	return handled, quarantined
}
