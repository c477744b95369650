package drivertest

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/outbox"
)

// Names proves the row of the broker in docs/names.md.
func Names(t *testing.T, door string, d Driver) {
	t.Helper()
	two := func(change func(*outbox.Message)) claimtest.Proof {
		return func(t *testing.T) (int, int) {
			t.Helper()
			b := newBench(t, d, d.Addr(t))
			first := b.message("m", "one")
			second := first
			change(&second)
			return b.handled(handling{messages: 2}, func() {
				b.publish([]outbox.Message{first})
				b.publish([]outbox.Message{second})
			})
		}
	}
	nameless := func(n int32) claimtest.Proof {
		return func(t *testing.T) (int, int) {
			t.Helper()
			b := newBench(t, d, d.Addr(t))
			return b.handled(handling{messages: n}, func() {
				for range n {
					b.must(d.Foreign(t.Context(), b.direct, b.topic, inbox.Message{Body: []byte("body of a message without an ID")}))
				}
			})
		}
	}
	proofs := map[string]claimtest.Proof{
		"id":         two(func(m *outbox.Message) { m.ID = "n" }),
		"sent again": two(func(*outbox.Message) {}),
		"body":       two(func(m *outbox.Message) { m.Body = []byte("body of another message") }),
		"key":        two(func(m *outbox.Message) { m.Key = "another" }),
		"delivered again": func(t *testing.T) (int, int) {
			t.Helper()
			b := newBench(t, d, d.Addr(t))
			return b.handled(handling{messages: 1, lost: 1}, func() { b.publish([]outbox.Message{b.message("m", "")}) })
		},
		"consumer": func(t *testing.T) (int, int) {
			t.Helper()
			b := newBench(t, d, d.Addr(t))
			guard := claimtest.Guard(t, b.store, nil)
			other, err := inbox.New(guard, &inbox.Options{Consumer: consumerName + " too"})
			b.must(err)
			return b.handled(handling{messages: 1, too: other}, func() { b.publish([]outbox.Message{b.message("m", "")}) })
		},
	}
	if d.Names {
		proofs["place of a message without an id"] = nameless(2)
	} else {
		proofs["no id"] = nameless(1)
	}
	claimtest.Names(t, door, proofs)
}

// handling says how many messages come, how many acknowledgements are lost, and who else consumes.
type handling struct {
	messages, lost int32
	too            *inbox.Inbox
}

// handled consumes while send sends, until so many messages have been delivered and none is left, and returns how often the handler ran, and how
// many messages were put into quarantine.
func (b *bench) handled(h handling, send func()) (ran, quarantined int) {
	var runs, delivered, kept, again atomic.Int32
	effect := func(context.Context, inbox.Message) error { //nolint:unparam // it is an inbox.Handler.
		runs.Add(1)
		return nil
	}
	stop := b.consume(1, func(ctx context.Context, m inbox.Message) inbox.Verdict {
		v := b.inbox.Handle(ctx, m, effect)
		if h.too != nil {
			h.too.Handle(ctx, m, effect)
		}
		if v.Act == inbox.Quarantine {
			kept.Add(1)
		}
		if again.Add(1) <= h.lost { // its acknowledgement does not arrive
			return inbox.Verdict{}
		}
		delivered.Add(1)
		return v
	})
	send()
	testserver.Eventually(b, "the messages have been delivered", func() bool {
		return delivered.Load() >= h.messages || delivered.Load() > 0 && b.left() == 0
	})
	b.wantNothingLeft()
	stop()
	return int(runs.Load()), int(kept.Load())
}
