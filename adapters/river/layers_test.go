package semelriver_test

import (
	"context"
	"testing"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
)

// within is a middleware with a layer for each order.
type within struct {
	river.MiddlewareDefaults

	layer func(order string) claimtest.Layer
}

func (w *within) Work(ctx context.Context, row *rivertype.JobRow, work func(context.Context) error) error {
	return w.layer(orderOf(row)).Do(ctx, work)
}

// TestLayers: promise 3: an unknown outcome stays unknown, in every order of the package's middleware and another one. One that retries
// inside of it repeats the work within one claim.
func TestLayers(t *testing.T) {
	t.Parallel()
	s, _ := newShop(t)
	jobs, cases := s.jobs(t, nil), claimtest.Layers()
	client, _, _ := s.start(t, &worker{
		jobs: jobs, hold: func(ctx context.Context, order string) error { return cases[order].Work(ctx) },
		outside: &within{layer: func(order string) claimtest.Layer { return cases[order].Outside }},
		inside:  &within{layer: func(order string) claimtest.Layer { return cases[order].Inside }},
	}, nil)
	for name := range cases {
		_, err := s.insert(t.Context(), jobs, client, name, charge{Order: name}, &river.InsertOpts{MaxAttempts: 2})
		claimtest.NoError(t, err)
	}
	testserver.Eventually(t, "all jobs have ended", func() bool { return s.count(t, "river_job WHERE finalized_at IS NULL") == 0 })
	for name, c := range cases {
		state := "discarded"
		if c.Unknown {
			state = "cancelled"
		}
		if s.count(t, "river_job WHERE args->>'order' = '"+name+"' AND state = '"+state+"'") != 1 {
			t.Errorf("%s: the job is not %s", name, state)
		}
		if n := s.count(t, "effect WHERE order_id = '"+name+"'"); n != c.Effects {
			t.Errorf("%s: got %d effects, want %d", name, n, c.Effects)
		}
	}
}
