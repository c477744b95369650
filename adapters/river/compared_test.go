package semelriver_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
)

// These tests show River without the adapter. docs/which.md cites them: when one fails after an update, that page is out of date.

// payment is a job whose key is its order.
type payment struct {
	Order  int64 `json:"order" river:"unique"`
	Amount int   `json:"amount"`
}

func (payment) Kind() string { return "payment" }

// River drops another amount under the key of a job without an error, and frees the key with the job's row.
func TestRiverComparesNoInput(t *testing.T) {
	t.Parallel()
	s, _ := newShop(t)
	client, err := river.NewClient(riverpgxv5.New(s.pool), &river.Config{Logger: quiet()})
	claimtest.NoError(t, err)
	opts := &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}, ScheduledAt: time.Now().Add(time.Hour)}
	first, err := client.Insert(t.Context(), payment{Order: 1, Amount: 10}, opts)
	claimtest.NoError(t, err)
	got, err := client.Insert(t.Context(), payment{Order: 1, Amount: 99}, opts)
	if err != nil || !got.UniqueSkippedAsDuplicate || string(got.Job.EncodedArgs) != `{"order": 1, "amount": 10}` {
		t.Errorf("got %s, skipped %v, want the first job's arguments", got.Job.EncodedArgs, got.UniqueSkippedAsDuplicate)
	}
	_, err = client.JobDelete(t.Context(), first.Job.ID) // as the cleaner does after CompletedJobRetentionPeriod
	claimtest.NoError(t, err)
	if again, err := client.Insert(t.Context(), payment{Order: 1}, opts); err != nil || again.UniqueSkippedAsDuplicate {
		t.Errorf("got skipped %v, %v, want a second job", again.UniqueSkippedAsDuplicate, err)
	}
}

// A slow worker whose job River gave to another one completes it in its own transaction, and both take effect.
func TestRiverStaleWorker(t *testing.T) {
	t.Parallel()
	s, _ := newShop(t)
	slow, again, completed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var attempts atomic.Int32
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[payment]) error {
		if attempts.Add(1) == 1 {
			close(slow)
			<-again
		} else {
			close(again)
			<-completed
		}
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "INSERT INTO effect VALUES ('1')"); err != nil {
				return err
			}
			_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
			return err
		})
	}))
	client, err := river.NewClient(riverpgxv5.New(s.pool), &river.Config{
		Logger: quiet(), Workers: workers, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 4}},
	})
	claimtest.NoError(t, err)
	claimtest.NoError(t, client.Start(t.Context()))
	t.Cleanup(func() { claimtest.NoError(t, client.Stop(context.WithoutCancel(t.Context()))) })
	inserted, err := client.Insert(t.Context(), payment{Order: 1}, nil)
	claimtest.NoError(t, err)
	<-slow
	_, err = s.pool.Exec(t.Context(), "UPDATE river_job SET state = 'available' WHERE id = $1", inserted.Job.ID) // as the rescuer does after RescueStuckJobsAfter
	claimtest.NoError(t, err)
	testserver.Eventually(t, "the first attempt has completed the job of the second", func() bool {
		row, err := client.JobGet(t.Context(), inserted.Job.ID)
		return err == nil && row.State == rivertype.JobStateCompleted && row.Attempt == 2
	})
	close(completed)
	testserver.Eventually(t, "both have taken effect", func() bool { return s.count(t, "effect") == 2 })
}
