package mark_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/mark"
)

func TestOf(t *testing.T) {
	t.Parallel()
	plain := errors.New("down")
	for name, test := range map[string]struct {
		err  error
		want semel.State
	}{
		"nil":                  {nil, semel.StateAbsent},
		"none":                 {plain, semel.StateAbsent},
		"final":                {semel.MarkFinal(plain), semel.StateCompleted},
		"wrapped":              {fmt.Errorf("charge: %w", semel.MarkUnknown(plain)), semel.StateUnknown},
		"the outermost counts": {semel.MarkReleased(semel.MarkFinal(plain)), semel.StateReleased},
		"one of several":       {errors.Join(plain, semel.MarkFinal(plain)), semel.StateCompleted},
		"a replay has none":    {&semel.FinalError{Message: "no"}, semel.StateAbsent},
	} {
		if got := mark.Of[semel.State](test.err); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

func TestTimedOut(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		errors.New("down"): false, context.Canceled: true, fmt.Errorf("call: %w", context.DeadlineExceeded): true, os.ErrDeadlineExceeded: true, os.ErrClosed: false,
	} {
		if got := mark.TimedOut(err); got != want {
			t.Errorf("%v: got %v, want %v", err, got, want)
		}
	}
}
