package outbox_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/outbox"
)

// later is an error that says when to try again.
type later struct{ time.Duration }

// Error implements error.
func (later) Error() string { return "later" }

// RetryAfter returns the wait.
func (l later) RetryAfter() time.Duration { return l.Duration }

// An error that asks for time gets it, within bounds, and one of a message that was not tried does not count.
func TestAskedToWait(t *testing.T) {
	t.Parallel()
	p := at(t, databases.Open(t, dialect.SQLite), nil)
	asked := map[string]error{
		"later": fmt.Errorf("wrapped: %w", later{time.Hour}), "much-later": later{1000 * time.Hour}, "now": later{-1},
		"postponed": outbox.Postponed(errRefused, 20*time.Minute), "busy": outbox.Postponed(errRefused, 0),
	}
	to := &receiver{refuse: func(m outbox.Message) error { return asked[m.Key] }}
	for key := range asked {
		p.adds(t, message(key, key))
	}
	o := quick()
	o.MinPause, o.MaxPause, o.MaxAttempts = 10*time.Minute, 2*time.Hour, 2
	p.runs(t, to, o)
	go others(t, p)
	var held []outbox.Held
	eventually(t, func() error {
		if held = p.list(t); len(held) != len(asked) {
			return fmt.Errorf("got %+v", held)
		}
		return nil
	})
	type wait struct {
		Pause    time.Duration
		Attempts int64
	}
	got := map[string]wait{}
	for _, h := range held {
		got[h.ID] = wait{h.Next.Sub(h.Since).Round(time.Second), h.Attempts}
	}
	want := map[string]wait{
		"later": {time.Hour, 1}, "much-later": {2 * time.Hour, 1}, "now": {10 * time.Minute, 1}, "postponed": {20 * time.Minute, 0}, "busy": {10 * time.Minute, 0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pauses and attempts (-want +got):\n%s", diff)
	}
}

// While the publisher takes nothing, no message is given up, and nothing is lost.
func TestOutage(t *testing.T) {
	t.Parallel()
	p := at(t, databases.Open(t, dialect.SQLite), nil)
	tries := make(chan struct{}, 1000)
	to := &receiver{refuse: func(outbox.Message) error { tries <- struct{}{}; return errRefused }}
	a, ids := numbered("a", 3)
	p.adds(t, a...)
	o := quick()
	o.MaxAttempts = 1
	_, _ = p.runs(t, to, o)
	for range 5 {
		select {
		case <-tries:
		case <-time.After(10 * time.Second):
			t.Fatalf("the relay stopped trying; held: %+v", p.list(t))
		}
	}
	if held := p.list(t); len(held) != 0 {
		t.Errorf("got %+v, want none held", held)
	}
	to.let(nil)
	to.wants(t, "a", ids...)
	p.empties(t)
}

// A publisher that answers nonsense, panics or hangs loses nothing.
func TestRudePublishers(t *testing.T) {
	t.Parallel()
	for name, publish := range map[string]func(ctx context.Context) []error{
		"too few answers": func(context.Context) []error { return []error{nil, nil, nil, nil, nil} },
		"panics":          func(context.Context) []error { panic("publisher") },
		"hangs":           func(ctx context.Context) []error { <-ctx.Done(); return []error{ctx.Err(), ctx.Err()} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := at(t, databases.Open(t, dialect.SQLite), nil)
			to := &rude{rude: publish}
			a, ids := numbered("a", 2)
			p.adds(t, a...)
			o := quick()
			o.PublishTimeout = 10 * time.Millisecond
			_, _ = p.runs(t, to, o)
			to.wants(t, "a", ids...)
			p.empties(t)
		})
	}
}

// rude is a receiver that behaves badly three times.
type rude struct {
	receiver

	calls int
	rude  func(ctx context.Context) []error
}

// Publish implements [outbox.Publisher].
func (r *rude) Publish(ctx context.Context, batch []outbox.Message) []error {
	if r.calls++; r.calls <= 3 {
		return r.rude(ctx)
	}
	return r.receiver.Publish(ctx, batch)
}

// A publisher that does not return, although its context has ended, keeps no other relay from the partitions, and its own
// relay goes on once it has returned.
func TestHungPublisher(t *testing.T) {
	t.Parallel()
	p := at(t, databases.Open(t, dialect.SQLite), nil)
	entered, release := make(chan struct{}), make(chan struct{})
	hangs := sync.OnceFunc(func() {
		close(entered)
		<-release
	})
	to, other := &receiver{refuse: func(outbox.Message) error { hangs(); return nil }}, &receiver{}
	o := quick()
	o.PublishTimeout, o.Parallel = 10*time.Millisecond, 1
	p.adds(t, message("k", "a"))
	p.runs(t, to, o)
	<-entered
	_, stop := p.runs(t, other, quick())
	other.wants(t, "k", "a")
	p.empties(t)
	stop()
	close(release)
	p.adds(t, message("k", "b"))
	to.wants(t, "k", "a", "b")
}
