package main

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/semel-dev/semel/internal/bench/order"
	"github.com/semel-dev/semel/internal/testserver"
)

// These tests are the sources of docs/compared.md about others, at the versions in go.mod: when one
// fails after an update, the page is out of date.

// uniqueArgs are a job whose key is its order.
type uniqueArgs struct {
	Order  int64 `json:"order" river:"unique"`
	Amount int   `json:"amount"`
}

// Kind names the job.
func (uniqueArgs) Kind() string { return "charge" }

// TestRiverSameKeyOtherInput: another amount under the key of a job is dropped without an error.
func TestRiverSameKeyOtherInput(t *testing.T) {
	t.Parallel()
	q := startQueue(t)
	opts := &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}, ScheduledAt: time.Now().Add(time.Hour)}
	if _, err := q.client.Insert(t.Context(), uniqueArgs{Order: 1, Amount: 10}, opts); err != nil {
		t.Fatal(err)
	}
	got, err := q.client.Insert(t.Context(), uniqueArgs{Order: 1, Amount: 99}, opts)
	if err != nil || !got.UniqueSkippedAsDuplicate || string(got.Job.EncodedArgs) != `{"order": 1, "amount": 10}` {
		t.Errorf("got %s, skipped %v, %v, want the first job's arguments and no error", got.Job.EncodedArgs, got.UniqueSkippedAsDuplicate, err)
	}
}

// TestRiverKeyEndsWithTheJob: the key is free as soon as the job's row is gone.
func TestRiverKeyEndsWithTheJob(t *testing.T) {
	t.Parallel()
	q := startQueue(t)
	opts := &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}, ScheduledAt: time.Now().Add(time.Hour)}
	first, err := q.client.Insert(t.Context(), uniqueArgs{Order: 1}, opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.client.JobDelete(t.Context(), first.Job.ID); err != nil { // as the cleaner does after CompletedJobRetentionPeriod
		t.Fatal(err)
	}
	if again, err := q.client.Insert(t.Context(), uniqueArgs{Order: 1}, opts); err != nil || again.UniqueSkippedAsDuplicate {
		t.Errorf("got skipped %v, %v, want a second job", again.UniqueSkippedAsDuplicate, err)
	}
}

// TestRiverStaleWorker: a worker whose job was given to another one, because it was slow, completes it in its own
// transaction while the other one is at work, and both take effect.
func TestRiverStaleWorker(t *testing.T) {
	t.Parallel()
	q := startQueue(t)
	slow, again, completed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var attempts atomic.Int32
	q.d.At = func(int) {
		if attempts.Add(1) == 1 {
			close(slow)
			<-again
		} else {
			close(again)
			<-completed
		}
	}
	inserted, err := q.client.Insert(t.Context(), stepArgs{1, order.Steps - 1}, q.opts())
	if err != nil {
		t.Fatal(err)
	}
	<-slow
	const rescue = "UPDATE river_job SET state = 'available' WHERE id = $1" // as the rescuer does when RescueStuckJobsAfter is over
	if _, err := q.d.Pool.Exec(t.Context(), rescue, inserted.Job.ID); err != nil {
		t.Fatal(err)
	}
	testserver.Eventually(t, "the first attempt has completed the job of the second", func() bool {
		row, err := q.client.JobGet(t.Context(), inserted.Job.ID)
		return err == nil && row.State == rivertype.JobStateCompleted && row.Attempt == 2
	})
	close(completed)
	testserver.Eventually(t, "both have taken effect", func() bool {
		var rows int
		err := q.d.Pool.QueryRow(t.Context(), "SELECT count(*) FROM order_row").Scan(&rows)
		return err == nil && rows == 2
	})
}

func startQueue(t *testing.T) *queue {
	t.Helper()
	d, err := order.Open(t.Context(), testserver.Postgres(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Drop)
	q, err := startRiver(t.Context(), d, riverDefaults())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.stop)
	return q
}

// TestWatermillDeduplicatorLosesAFailedMessage: it remembers a message before the handler has run, so the
// redelivery of one that failed is dropped.
func TestWatermillDeduplicatorLosesAFailedMessage(t *testing.T) {
	t.Parallel()
	handled := 0
	handler := (&middleware.Deduplicator{KeyFactory: middleware.NewMessageHasherSHA256(1 << 20)}).Middleware(func(*message.Message) ([]*message.Message, error) {
		handled++
		return nil, errors.New("the database is down")
	})
	_, first := handler(message.NewMessage("1", []byte("ship order 17")))
	_, second := handler(message.NewMessage("1", []byte("ship order 17")))
	if handled != 1 || first == nil || second != nil {
		t.Errorf("handled %d times: %v, then %v, want one failure and then silence", handled, first, second)
	}
}

// TestDBOSSameKeyOtherInput: another amount under a workflow's id gets the result of the first.
func TestDBOSSameKeyOtherInput(t *testing.T) {
	t.Parallel()
	c, err := dbos.NewContext(t.Context(), dbos.Config{AppName: "shop", DatabaseURL: testserver.PostgresDatabase(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dbos.Shutdown(c, time.Second) })
	charge := func(_ dbos.Context, amount int) (int, error) { return amount, nil }
	dbos.RegisterWorkflow(c, charge)
	if err := dbos.Launch(c); err != nil {
		t.Fatal(err)
	}
	for _, amount := range []int{10, 99} {
		handle, err := dbos.RunWorkflow(c, charge, amount, dbos.WithWorkflowID("order-1"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := handle.GetResult(); err != nil || got != 10 {
			t.Errorf("got %d, %v for %d, want the first amount and no error", got, err, amount)
		}
	}
}
