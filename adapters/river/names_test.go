package semelriver_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	semelriver "github.com/semel-dev/semel/adapters/river"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
)

// credit is a job of which a row may become a debit, as the same arguments of another kind.
type (
	credit struct{ Cents int }
	debit  struct{ Cents int }
)

func (credit) Kind() string { return "credit" }
func (debit) Kind() string  { return "debit" }

// counting is a worker that counts.
type counting[T river.JobArgs] struct {
	river.WorkerDefaults[T]

	jobs *semelriver.Jobs
	runs *atomic.Int32
}

func (w *counting[T]) Middleware(*rivertype.JobRow) []rivertype.WorkerMiddleware {
	return []rivertype.WorkerMiddleware{w.jobs}
}

func (w *counting[T]) Work(ctx context.Context, _ *river.Job[T]) error {
	if semelriver.KeyFor(ctx) != "" {
		w.runs.Add(1)
	}
	return nil
}

// TestNames proves docs/names.md.
func TestNames(t *testing.T) {
	t.Parallel()
	const again = "UPDATE river_job SET state = 'available', finalized_at = NULL, scheduled_at = now()"
	row := func(insert bool, sql string) claimtest.Proof {
		return func(t *testing.T) (int, int) {
			t.Helper()
			return handOut(t, insert, sql)
		}
	}
	claimtest.Names(t, "River", map[string]claimtest.Proof{
		"id":              row(true, ""),
		"time of the row": row(true, "TRUNCATE river_job RESTART IDENTITY"),
		"kind":            row(false, again+", kind = 'debit'"),
		"retry":           row(false, again),
		"queue":           row(false, again+", queue = 'other', priority = 2"),
		"arguments":       row(false, again+`, args = '{"Cents": 2}'`),
	})
}

// handOut works a job to its end, changes the table, and works on what there is then: another job of the same arguments, or the row. It
// returns how often the work ran, and how many jobs were cancelled.
func handOut(t *testing.T, insert bool, sql string) (ran, cancelled int) {
	t.Helper()
	s, _ := newShop(t)
	var runs atomic.Int32
	jobs := s.jobs(t, nil)
	client, _, _ := s.start(t, &worker{jobs: jobs}, func(c *river.Config) {
		river.AddWorker(c.Workers, &counting[credit]{jobs: jobs, runs: &runs})
		river.AddWorker(c.Workers, &counting[debit]{jobs: jobs, runs: &runs})
		c.Queues["other"] = river.QueueConfig{MaxWorkers: 1}
	})
	ended := func() {
		testserver.Eventually(t, "all jobs have ended", func() bool {
			return len(s.column(t, "SELECT kind FROM river_job WHERE finalized_at IS NULL")) == 0
		})
	}
	_, err := client.Insert(t.Context(), credit{Cents: 1}, nil)
	claimtest.NoError(t, err)
	ended()
	if sql != "" {
		_, err := s.pool.Exec(t.Context(), sql)
		claimtest.NoError(t, err)
	}
	if insert {
		_, err := client.Insert(t.Context(), credit{Cents: 1}, nil)
		claimtest.NoError(t, err)
	}
	ended()
	return int(runs.Load()), len(s.column(t, "SELECT kind FROM river_job WHERE state = 'cancelled'"))
}
