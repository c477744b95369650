package inbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/inbox"
	"github.com/semel-dev/semel/internal/claimtest"
)

// TestKeyFor: the key that a handler sends on is the same in every attempt, after a release too, and another for another message or consumer.
func TestKeyFor(t *testing.T) {
	t.Parallel()
	c := inMemory(t, inbox.Options{})
	other, err := inbox.New(c.guard, &inbox.Options{Consumer: "shipping"})
	claimtest.NoError(t, err)
	seen := map[string]int{}
	note := func(err error) inbox.Handler {
		return func(ctx context.Context, _ inbox.Message) error {
			seen[inbox.KeyFor(ctx)]++
			return err
		}
	}
	want(t, c.Handle(t.Context(), message("1", "a"), note(errDown)), inbox.Retry, "failed")
	c.clock.Advance(time.Minute)
	want(t, c.Handle(t.Context(), message("1", "a"), note(semel.MarkFinal(errDown))), inbox.Quarantine, "final")
	c.release(t, c.one(t))
	c.released(t, note(nil), func() bool { return c.one(t).Decision == "handled" })
	if len(seen) != 1 || seen[""] != 0 {
		t.Errorf("three attempts at one message have the keys %v", seen)
	}
	want(t, c.Handle(t.Context(), message("2", "a"), note(nil)), inbox.Ack, "handled")
	want(t, other.Handle(t.Context(), message("1", "a"), note(nil)), inbox.Ack, "handled")
	if len(seen) != 3 || inbox.KeyFor(t.Context()) != "" {
		t.Errorf("three wishes have the keys %v", seen)
	}
}
