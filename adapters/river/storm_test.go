package semelriver_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/semel-dev/semel"
	semelriver "github.com/semel-dev/semel/adapters/river"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/storetest"
)

// TestKillStorm: however often workers are killed, each job takes effect once: half of the effects commit with their job, and the others are
// looked up.
func TestKillStorm(t *testing.T) {
	t.Parallel()
	s, dsn := newShop(t)
	client, err := s.client(&worker{jobs: s.jobs(t, nil)}, nil)
	claimtest.NoError(t, err)
	var all []river.InsertManyParams
	for i, wish := range claimtest.Wishes() {
		all = append(all, river.InsertManyParams{Args: charge{Order: wish, Rows: i%2 == 0}})
	}
	_, err = client.InsertMany(t.Context(), all)
	claimtest.NoError(t, err)
	storm := claimtest.Storm{
		Worker: func() *exec.Cmd { return storetest.Command(t, "storm", dsn) },
		// River takes every running job for stuck, those of live workers too.
		Lost: func() {
			_, err := s.pool.Exec(t.Context(), "UPDATE river_job SET state = 'available', scheduled_at = now() WHERE state = 'running'")
			claimtest.NoError(t, err)
		},
		Effects: func() []string { return s.column(t, "SELECT order_id FROM effect") },
		Ended: func() (open int, done []string) {
			// The server may still take a job for a worker that was killed a moment before. River rescues it after an hour.
			_, err := s.pool.Exec(t.Context(), "UPDATE river_job SET state = 'available', scheduled_at = now() WHERE state = 'running' AND attempted_at < now() - interval '10 s'")
			claimtest.NoError(t, err)
			open = len(s.column(t, "SELECT args->>'order' FROM river_job WHERE finalized_at IS NULL"))
			return open, s.column(t, "SELECT args->>'order' FROM river_job WHERE state = 'completed'")
		},
	}
	storm.Run(t)
}

func (s *shop) column(t *testing.T, query string) []string {
	t.Helper()
	rows, err := s.pool.Query(t.Context(), query)
	claimtest.NoError(t, err)
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	claimtest.NoError(t, err)
	return texts
}

// stormWorker works until it is killed.
func stormWorker(ctx context.Context, args []string) error {
	s, err := openShop(ctx, args[0])
	if err != nil {
		return err
	}
	jobs, err := semelriver.New(s.guard, &semelriver.Options{Policy: semel.Policy{
		Lease: time.Second, OnUnknown: semel.Reconcile,
		Reconcile: func(ctx context.Context, rec semel.Record) (r semel.Reconciliation, err error) {
			id, _, _ := strings.Cut(rec.Name, "@")
			r.Verdict = semel.NotHappened
			happened := false
			if err := s.pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM effect JOIN river_job ON args->>'order' = order_id WHERE id = $1::bigint)", id).Scan(&happened); err != nil {
				return r, err
			}
			if happened {
				r.Verdict = semel.Happened
			}
			return r, nil
		},
	}})
	if err != nil {
		return err
	}
	stumble := func(ctx context.Context) { claimtest.Stumble(ctx, 10*time.Millisecond) }
	client, err := s.client(&worker{
		jobs: jobs,
		at:   func(string) { stumble(ctx) },
		hold: func(ctx context.Context, _ string) error {
			stumble(ctx)
			return nil
		},
	}, func(c *river.Config) { c.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 8}} })
	if err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return err
	}
	select {}
}
