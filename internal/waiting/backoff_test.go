package waiting_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

// A step is repeated as often as allowed, and only after the errors allowed.
func TestBackoff(t *testing.T) {
	t.Parallel()
	conflict, broken := errors.New("conflict"), errors.New("broken")
	again := func(err error) bool { return errors.Is(err, conflict) }
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		name  string
		ctx   context.Context //nolint:containedctx // one for each row.
		errs  []error
		steps int
	}{
		{"once", t.Context(), []error{nil}, 1},
		{"after conflicts", t.Context(), []error{conflict, conflict, nil}, 3},
		{"at most", t.Context(), []error{conflict, conflict, conflict, nil}, 3},
		{"broken", t.Context(), []error{conflict, broken, nil}, 2},
		{"context ended", ended, []error{conflict, nil}, 1},
	} {
		steps := 0
		first := time.Microsecond
		if test.ctx == ended {
			first = time.Hour // the context ends before the pause does
		}
		err := waiting.Backoff{Tries: 3, First: first, Most: time.Microsecond}.Do(test.ctx, again, func() error {
			steps++
			return test.errs[steps-1]
		})
		if steps != test.steps || !errors.Is(err, test.errs[steps-1]) {
			t.Errorf("%s: got %d steps and %v, want %d", test.name, steps, err, test.steps)
		}
	}
}

// A wait of no time ends with the context that has ended, and never goes on by chance.
func TestSleepAfterTheEnd(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		if waiting.Sleep(ended, 0) {
			t.Fatal("it goes on although the context has ended")
		}
	}
	if !waiting.Sleep(t.Context(), 0) {
		t.Error("it does not go on although the context has not ended")
	}
}
