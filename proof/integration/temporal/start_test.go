package temporal_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"go.temporal.io/sdk/client"

	"github.com/semel-dev/semel"
	semeltemporal "github.com/semel-dev/semel/adapters/temporal"
	"github.com/semel-dev/semel/internal/claimtest"
)

// TestStartOnce: the key of a request starts one workflow, whether the first one runs or has ended; another amount under the key is refused, and
// another caller's key is another one.
func TestStartOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := connect(t, s, s.GetFrontendHostPort())
	var charged atomic.Int32
	proceed := make(chan struct{})
	work(t, c, func(_ context.Context, amount int) (int, error) {
		<-proceed
		charged.Add(1)
		return amount, nil
	})
	starter := semeltemporal.Starter{Client: c}
	key := semel.Key{Scope: "alice create order", Name: "8e03978e-40d5-43dd-bc93-6894a57f9324"}
	startOnce := func(key semel.Key, amount int) (client.WorkflowRun, error) {
		return starter.StartOnce(t.Context(), key, client.StartWorkflowOptions{TaskQueue: taskQueue}, workflowName, amount)
	}
	const callers = 8
	runs, errs := make([]client.WorkflowRun, callers), make([]error, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() { runs[i], errs[i] = startOnce(key, 10) })
	}
	all.Wait()
	claimtest.NoError(t, errors.Join(errs...))
	if _, err := startOnce(key, 99); !errors.Is(err, semel.ErrMismatch) {
		t.Errorf("another amount while it runs: got %v", err)
	}
	close(proceed)
	for _, run := range runs {
		if run.GetID() != semeltemporal.WorkflowID(key) || run.GetRunID() != runs[0].GetRunID() {
			t.Errorf("got run %s of %s", run.GetRunID(), run.GetID())
		}
		wantCharged(t, run, 10)
	}
	again, err := startOnce(key, 10)
	claimtest.NoError(t, err)
	wantCharged(t, again, 10)
	if _, err := startOnce(key, 99); !errors.Is(err, semel.ErrMismatch) {
		t.Errorf("another amount after its end: got %v", err)
	}
	if n := charged.Load(); n != 1 {
		t.Errorf("charged %d times", n)
	}
	other, err := startOnce(semel.Key{Scope: "bob create order", Name: key.Name}, 99)
	claimtest.NoError(t, err)
	wantCharged(t, other, 99)

	foreign := semel.Key{Scope: "carol create order", Name: "k"}
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: semeltemporal.WorkflowID(foreign), TaskQueue: taskQueue}, workflowName, 1)
	claimtest.NoError(t, err)
	wantCharged(t, run, 1)
	if _, err := startOnce(foreign, 1); !errors.Is(err, semel.ErrMismatch) {
		t.Errorf("a workflow that StartOnce has not started: got %v", err)
	}
}

// TestSameIDOtherInput shows Temporal without the adapter: another amount under the ID of a running workflow gets that workflow's result, and is
// charged as well when the workflow has ended. docs/which.md cites it.
func TestSameIDOtherInput(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := connect(t, s, s.GetFrontendHostPort())
	proceed := make(chan struct{})
	work(t, c, func(_ context.Context, amount int) (int, error) {
		<-proceed
		return amount, nil
	})
	begin := func(amount int) client.WorkflowRun {
		run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "order-1", TaskQueue: taskQueue}, workflowName, amount)
		claimtest.NoError(t, err)
		return run
	}
	first, second := begin(10), begin(99)
	close(proceed)
	wantCharged(t, first, 10)
	wantCharged(t, second, 10)
	wantCharged(t, begin(99), 99)
}
