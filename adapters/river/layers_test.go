package semelriver_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/semel-dev/semel/internal/claimtest"
)

// layer is a middleware that does for each order what a case says.
type layer struct {
	river.MiddlewareDefaults

	of func(order string) around
}

// around calls the work, or does something else.
type around func(ctx context.Context, work func(context.Context) error) error

func (l *layer) Work(ctx context.Context, row *rivertype.JobRow, work func(context.Context) error) error {
	if do := l.of(orderOf(row)); do != nil {
		return do(ctx, work)
	}
	return work(ctx)
}

// panicError holds a panic that a layer recovered.
type panicError struct{ value any }

func (*panicError) Error() string { return "the worker panicked" }

func recovers(ctx context.Context, work func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p}
		}
	}()
	return work(ctx)
}

func limits(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := withTimeUp(ctx)
	defer cancel()
	return work(ctx)
}

func repeats(ctx context.Context, work func(context.Context) error) (err error) {
	for range 3 {
		if err = work(ctx); err == nil {
			break
		}
	}
	return err
}

// timeUp is the key of a function in a context that ends it, as a time-out does.
type timeUp struct{}

// withTimeUp returns a context whose time is up when the work says so.
func withTimeUp(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	return context.WithValue(ctx, timeUp{}, func() { cancel(context.DeadlineExceeded) }), func() { cancel(nil) }
}

// overruns works until its time is up.
func overruns(ctx context.Context) error {
	end, _ := ctx.Value(timeUp{}).(func())
	end()
	<-ctx.Done()
	return context.Cause(ctx)
}

// TestLayers: promise 3: an unknown outcome stays unknown, in every order of the package's middleware and another one. One that retries
// inside of it repeats the work within one claim.
func TestLayers(t *testing.T) {
	t.Parallel()
	panics := func(context.Context) error { panic("after the effect") }
	fails := func(context.Context) error { return errors.New("card declined") }
	const failed, cancelled = river.EventKindJobFailed, river.EventKindJobCancelled
	cases := map[string]struct {
		outside, inside around
		work            func(context.Context) error
		events          []river.EventKind
		effects         int
	}{
		"no layer, a panic":      {nil, nil, panics, []river.EventKind{failed, cancelled}, 1},
		"recovery outside":       {recovers, nil, panics, []river.EventKind{failed, cancelled}, 1},
		"recovery inside":        {nil, recovers, panics, []river.EventKind{failed, cancelled}, 1},
		"time-out outside":       {limits, nil, overruns, []river.EventKind{failed, cancelled}, 1},
		"time-out inside":        {nil, limits, overruns, []river.EventKind{failed, cancelled}, 1},
		"retry outside, a panic": {repeats, recovers, panics, []river.EventKind{cancelled}, 1},
		"retry inside, an error": {nil, repeats, fails, []river.EventKind{failed, failed}, 6},
	}
	s, _ := newShop(t)
	jobs := s.jobs(t, nil)
	client, events, stop := s.start(t, &worker{
		jobs: jobs, hold: func(ctx context.Context, order string) error { return cases[order].work(ctx) },
		outside: &layer{of: func(order string) around { return cases[order].outside }},
		inside:  &layer{of: func(order string) around { return cases[order].inside }},
	}, nil)
	open := 0
	for name, c := range cases {
		open += len(c.events)
		_, err := s.insert(t.Context(), jobs, client, name, charge{Order: name}, &river.InsertOpts{MaxAttempts: 2})
		claimtest.NoError(t, err)
	}
	got := map[string][]river.EventKind{}
	for ; open > 0; open-- {
		e := <-events
		got[orderOf(e.Job)] = append(got[orderOf(e.Job)], e.Kind)
	}
	stop()
	for name, c := range cases {
		if !slices.Equal(got[name], c.events) {
			t.Errorf("%s: got %v, want %v", name, got[name], c.events)
		}
		if n := s.count(t, "effect WHERE order_id = '"+name+"'"); n != c.effects {
			t.Errorf("%s: got %d effects, want %d", name, n, c.effects)
		}
	}
}
