package inbox_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/memstore"
)

var errDown = errors.New("the service is down")

// consumer is an inbox in memory, with a clock moved by hand.
type consumer struct {
	*inbox.Inbox
	guard *semel.Guard
	store *memstore.Store
	clock *claimtest.Clock
}

func inMemory(t *testing.T, o inbox.Options) *consumer {
	t.Helper()
	c := &consumer{clock: &claimtest.Clock{}}
	c.store = memstore.New(&memstore.Options{Now: c.clock.Now})
	c.guard = claimtest.Guard(t, c.store, nil)
	o.Consumer = "billing"
	var err error
	c.Inbox, err = inbox.New(c.guard, &o)
	claimtest.NoError(t, err)
	return c
}

// message has an ID and a body.
func message(id, body string) inbox.Message {
	return inbox.Message{ID: id, Subject: "orders.paid", Body: []byte(body), Header: map[string]string{"trace": "1"}, Deliveries: 1}
}

func want(t *testing.T, got inbox.Verdict, act inbox.Act, reason inbox.Reason) {
	t.Helper()
	if got.Act != act || got.Reason != reason {
		t.Fatalf("got %v, %q, after %v, %v, want %v, %q", got.Act, got.Reason, got.After, got.Err, act, reason)
	}
}

// returns is a handler that counts its calls.
func returns(n *int, errs ...error) inbox.Handler {
	return func(context.Context, inbox.Message) error {
		*n++
		return errs[min(*n, len(errs))-1]
	}
}

func TestHandledOnce(t *testing.T) {
	t.Parallel()
	c, n := inMemory(t, inbox.Options{}), 0
	want(t, c.Handle(t.Context(), message("1", "a"), returns(&n, nil)), inbox.Ack, "handled")
	again := message("1", "a")
	again.Header["x-death"] = "changed by the broker"
	want(t, c.Handle(t.Context(), again, returns(&n, nil)), inbox.Ack, "duplicate")
	want(t, c.Handle(t.Context(), message("1", "b"), returns(&n, nil)), inbox.Quarantine, "mismatch")
	if n != 1 {
		t.Errorf("the handler ran %d times, want once", n)
	}
}

func TestFailsUntilQuarantine(t *testing.T) {
	t.Parallel()
	c, n := inMemory(t, inbox.Options{MaxAttempts: 3}), 0
	for _, pause := range []time.Duration{time.Second, 2 * time.Second} {
		v := c.Handle(t.Context(), message("1", "a"), returns(&n, errDown))
		want(t, v, inbox.Retry, "failed")
		if v.After != pause {
			t.Errorf("got a pause of %v, want %v", v.After, pause)
		}
		want(t, c.Handle(t.Context(), message("1", "a"), returns(&n, errDown)), inbox.Retry, "pausing")
		c.clock.Advance(pause)
	}
	want(t, c.Handle(t.Context(), message("1", "a"), returns(&n, errDown)), inbox.Quarantine, "attempts")
	want(t, c.Handle(t.Context(), message("1", "a"), returns(&n, errDown)), inbox.Quarantine, "quarantined")
	if n != 3 {
		t.Errorf("the handler ran %d times, want 3", n)
	}
}
