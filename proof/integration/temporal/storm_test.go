package temporal_test

import (
	"context"
	"database/sql"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	_ "modernc.org/sqlite" // opens the database of the effects

	"github.com/semel-dev/semel"
	semeltemporal "github.com/semel-dev/semel/adapters/temporal"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/storetest"
)

// perWorkflow is the number of wishes of a workflow: every second one is a local activity.
const perWorkflow = 4

func openEffects(ctx context.Context, folder string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "effects.db")+"?_txlock=immediate&_pragma=busy_timeout(30000)&_pragma=journal_mode(wal)")
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS effects (wish TEXT, digest TEXT)")
	return db, err
}

// storm is a workflow that does what wishes ask for.
func storm(ctx workflow.Context, wishes []string) error {
	retries := &temporal.RetryPolicy{InitialInterval: 10 * time.Millisecond, BackoffCoefficient: 1}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Second, RetryPolicy: retries})
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: time.Second, ScheduleToCloseTimeout: time.Minute, // by default it is StartToCloseTimeout, which ends before a lease does
		RetryPolicy: retries,
	})
	for i, wish := range wishes {
		execute := workflow.ExecuteActivity
		if i%2 == 1 {
			execute = workflow.ExecuteLocalActivity
		}
		if err := execute(ctx, activityName, wish).Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// stormWorker works until it is killed: a folder, and the address and the namespace of the server.
func stormWorker(ctx context.Context, args []string) error {
	guard, _, err := openGuard(ctx, args[0])
	if err != nil {
		return err
	}
	db, err := openEffects(ctx, args[0])
	if err != nil {
		return err
	}
	activities, err := semeltemporal.New(guard, &semeltemporal.Options{Policy: semel.Policy{
		Lease: 3 * time.Second, OnUnknown: semel.Reconcile, // longer than a workflow task: the retry of a local activity follows a timer
		Reconcile: func(ctx context.Context, rec semel.Record) (r semel.Reconciliation, err error) {
			found := 0
			if err := db.QueryRowContext(ctx, "SELECT count(*) FROM effects WHERE digest = ?", rec.Digest.String()).Scan(&found); err != nil {
				return r, err
			}
			if found == 0 {
				return semel.Reconciliation{Verdict: semel.NotHappened}, nil
			}
			r.Verdict, r.Kept = semel.Happened, true
			r.Outcome, err = semeltemporal.OutcomeOf(1, nil)
			return r, err
		},
	}})
	if err != nil {
		return err
	}
	c, err := dial(args[1], args[2])
	if err != nil {
		return err
	}
	w := worker.New(c, taskQueue, worker.Options{
		Interceptors: []interceptor.WorkerInterceptor{activities}, StickyScheduleToStartTimeout: 200 * time.Millisecond,
	})
	w.RegisterWorkflowWithOptions(storm, workflow.RegisterOptions{Name: workflowName})
	w.RegisterActivityWithOptions(func(ctx context.Context, wish string) (int, error) {
		claimtest.Stumble(ctx, 10*time.Millisecond)
		if _, err := db.ExecContext(ctx, "INSERT INTO effects VALUES (?, ?)", wish, semel.ClaimFrom(ctx).Digest().String()); err != nil {
			return 0, err
		}
		claimtest.Stumble(ctx, 10*time.Millisecond)
		return 1, nil
	}, activity.RegisterOptions{Name: activityName})
	if err := w.Start(); err != nil {
		return err
	}
	select {}
}

// TestKillStorm: however often workers are killed, each activity takes effect once, local ones too.
func TestKillStorm(t *testing.T) {
	t.Parallel()
	s, folder := newServer(t), t.TempDir()
	c := connect(t, s, s.GetFrontendHostPort())
	db, err := openEffects(t.Context(), folder)
	claimtest.NoError(t, err)
	claimtest.Closes(t, db)
	var (
		mu   sync.Mutex // guards the two below
		open int
		done []string
		all  sync.WaitGroup
	)
	for wishes := range slices.Chunk(claimtest.Wishes(), perWorkflow) {
		run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: taskQueue, WorkflowTaskTimeout: time.Second}, workflowName, wishes)
		claimtest.NoError(t, err)
		mu.Lock()
		open++
		mu.Unlock()
		all.Go(func() {
			err := run.Get(context.WithoutCancel(t.Context()), nil)
			mu.Lock()
			defer mu.Unlock()
			if open--; err != nil {
				t.Error(err)
			} else {
				done = append(done, wishes...)
			}
		})
	}
	storm := claimtest.Storm{
		Worker: func() *exec.Cmd {
			return storetest.Command(t, "storm", folder, s.GetFrontendHostPort(), s.GetDefaultNamespace())
		},
		Effects: func() []string { return strings.Fields(claimtest.Query(t, db, "SELECT wish FROM effects")) },
		Ended: func() (int, []string) {
			mu.Lock()
			defer mu.Unlock()
			return open, slices.Clone(done)
		},
	}
	storm.Run(t)
	all.Wait()
}
