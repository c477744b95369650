package main

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/semel-dev/semel/internal/testserver"
)

// These tests are the sources of docs/compared.md about Temporal, at the versions in go.mod: when one
// fails after an update, the page is out of date.

// serve starts a server, and a worker with one workflow, charge, whose activity is
// the function.
func serve(t *testing.T, timeout time.Duration, fn func(ctx context.Context, amount int) (int, error)) client.Client {
	t.Helper()
	e, err := startServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.stop)
	w := worker.New(e.client, taskQueue, worker.Options{})
	w.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: activityName})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, amount int) (charged int, err error) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: timeout, RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Millisecond},
		})
		err = workflow.ExecuteActivity(ctx, activityName, amount).Get(ctx, &charged)
		return charged, err
	}, workflow.RegisterOptions{Name: workflowName})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return e.client
}

func start(t *testing.T, c client.Client, o client.StartWorkflowOptions, amount int) client.WorkflowRun {
	t.Helper()
	o.TaskQueue = taskQueue
	run, err := c.ExecuteWorkflow(t.Context(), o, workflowName, amount)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// TestTemporalSameKeyOtherInput: another amount under the id of a running workflow gets that workflow's result; when it
// has ended, the id is free and the amount is charged as well.
func TestTemporalSameKeyOtherInput(t *testing.T) {
	t.Parallel()
	proceed := make(chan struct{})
	c := serve(t, time.Minute, func(_ context.Context, amount int) (int, error) {
		<-proceed
		return amount, nil
	})
	o := client.StartWorkflowOptions{ID: "order-1"}
	first, second := start(t, c, o, 10), start(t, c, o, 99)
	close(proceed)
	want := func(run client.WorkflowRun, amount int) {
		t.Helper()
		var got int
		if err := run.Get(t.Context(), &got); err != nil || got != amount {
			t.Errorf("got %d, %v, want %d", got, err, amount)
		}
	}
	want(first, 10)
	want(second, 10)
	want(start(t, c, o, 99), 99)
}

// TestTemporalTwoAttemptsAtATime: an activity that is slower than its timeout runs a second time while the first attempt
// goes on, both take effect, and the workflow sees one success. What became unknown with the timeout is not asked
// about.
func TestTemporalTwoAttemptsAtATime(t *testing.T) {
	t.Parallel()
	var began, charged atomic.Int32
	second := make(chan struct{})
	c := serve(t, time.Second, func(_ context.Context, amount int) (int, error) {
		if began.Add(1) == 1 {
			<-second // slow: it outlives its timeout
		} else {
			close(second)
		}
		charged.Add(1)
		return amount, nil
	})
	var got int
	if err := start(t, c, client.StartWorkflowOptions{ID: "order-1"}, 10).Get(t.Context(), &got); err != nil || got != 10 {
		t.Fatalf("got %d, %v, want one success", got, err)
	}
	testserver.Eventually(t, "the slow attempt has charged as well", func() bool { return charged.Load() == 2 })
}
