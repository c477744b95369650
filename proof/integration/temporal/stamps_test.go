package temporal_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/semel-dev/semel"
	semeltemporal "github.com/semel-dev/semel/adapters/temporal"
	"github.com/semel-dev/semel/internal/claimtest"
)

// stamps is an activity that notes the key for services of each of its runs, and what it was given.
type stamps struct {
	mu    sync.Mutex // guards the fields below
	keys  []string
	given []string
	err   func(run int, what string) error
}

func (s *stamps) stamp(ctx context.Context, what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys, s.given = append(s.keys, semeltemporal.KeyFor(ctx)), append(s.given, what)
	if s.err == nil {
		return nil
	}
	return s.err(len(s.given), what)
}

// want checks how often it ran, and how many keys it had.
func (s *stamps) want(t *testing.T, runs, keys int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.keys)
	if got := len(slices.Compact(slices.Clone(s.keys))); len(s.given) != runs || got != keys || slices.Contains(s.keys, "") {
		t.Errorf("it ran %d times (%q) with %d keys, want %d times with %d keys", len(s.given), s.given, got, runs, keys)
	}
}

// runStamps runs a workflow of stamps to its end, under the adapter.
func runStamps(t *testing.T, s *stamps, flow any, args ...any) error {
	t.Helper()
	server := newServer(t)
	c := connect(t, server, server.GetFrontendHostPort())
	w := worker.New(c, taskQueue, worker.Options{Interceptors: []interceptor.WorkerInterceptor{protect(t, t.TempDir(), semeltemporal.Options{})}})
	w.RegisterWorkflowWithOptions(flow, workflow.RegisterOptions{Name: workflowName})
	w.RegisterActivityWithOptions(s.stamp, activity.RegisterOptions{Name: "stamp"})
	claimtest.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "parcel", TaskQueue: taskQueue, WorkflowTaskTimeout: time.Second}, workflowName, args...)
	claimtest.NoError(t, err)
	return run.Get(t.Context(), nil)
}

func local(ctx workflow.Context, retry time.Duration) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: 10 * time.Second, RetryPolicy: &temporal.RetryPolicy{InitialInterval: retry, MaximumAttempts: 5},
	})
}

func regular(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Second})
}

// TestLocalActivityAfterTimer: a local activity whose retry is too far away for the SDK to wait is tried again after a timer, under another id.
// It is the same wish: what may have happened does not run again, and what failed runs with the key that it had.
func TestLocalActivityAfterTimer(t *testing.T) {
	t.Parallel()
	flow := func(ctx workflow.Context) error {
		return workflow.ExecuteLocalActivity(local(ctx, 2*time.Second), "stamp", "now").Get(ctx, nil)
	}
	t.Run("unknown", func(t *testing.T) {
		t.Parallel()
		s := &stamps{err: func(int, string) error { return semel.MarkUnknown(errors.New("no answer")) }}
		if e, ok := errors.AsType[*temporal.ApplicationError](runStamps(t, s, flow)); !ok || e.Type() != "SemelUnknown" {
			t.Errorf("got %v", e)
		}
		s.want(t, 1, 1)
	})
	t.Run("failed", func(t *testing.T) {
		t.Parallel()
		s := &stamps{err: func(run int, _ string) error {
			if run == 1 {
				return errors.New("no connection")
			}
			return nil
		}}
		claimtest.NoError(t, runStamps(t, s, flow))
		s.want(t, 2, 1)
	})
}

// TestKeyForServices: the key that an activity sends on is the same in every attempt, and another one in every run of the workflow, whose
// activities have the same ids.
func TestKeyForServices(t *testing.T) {
	t.Parallel()
	s := &stamps{err: func(run int, _ string) error {
		if run%2 == 1 {
			return errors.New("no connection")
		}
		return nil
	}}
	claimtest.NoError(t, runStamps(t, s, func(ctx workflow.Context, month int) error {
		if err := workflow.ExecuteActivity(regular(ctx), "stamp", "the monthly fee").Get(ctx, nil); err != nil || month == 3 {
			return err
		}
		return workflow.NewContinueAsNewError(ctx, workflowName, month+1)
	}, 1))
	s.want(t, 6, 3)
}
