package main

import (
	"context"
	"io"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.temporal.io/server/temporaltest"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/bench/order"
)

const (
	taskQueue    = "orders"
	workflowName = "order"
	activityName = "insert"
)

// engine is a Temporal server in this process, with its state in memory.
type engine struct {
	server *temporaltest.TestServer
	client client.Client
}

func startServer() (*engine, error) {
	e := &engine{server: temporaltest.NewServer()}
	var err error
	e.client, err = dial(e.server.GetFrontendHostPort(), e.server.GetDefaultNamespace())
	return e, err
}

func dial(address, namespace string) (client.Client, error) {
	quiet := log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	return client.Dial(client.Options{HostPort: address, Namespace: namespace, Logger: quiet})
}

func (e *engine) stop() {
	e.client.Close()
	e.server.Stop()
}

// startWorker starts a worker whose activities insert the rows of orders.

func startWorker(d *order.Database, c client.Client) (worker.Worker, error) {
	w := worker.New(c, taskQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(orderWorkflow, workflow.RegisterOptions{Name: workflowName})
	w.RegisterActivityWithOptions(func(ctx context.Context, step int) (order.Row, error) {
		return d.Insert(ctx, d.Pool, step)
	}, activity.RegisterOptions{Name: activityName})
	return w, w.Start()
}

// stepTimeout bounds an attempt of an activity. Temporal has no default; it is as long as Semel's lease.
const stepTimeout = semel.DefaultLease

// orderWorkflow does the steps in turn. A local activity runs in the workflow's own worker.
func orderWorkflow(ctx workflow.Context, local bool) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: stepTimeout})
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: stepTimeout, RetryPolicy: &temporal.RetryPolicy{MaximumInterval: time.Minute},
	})
	for step := range order.Steps {
		var err error
		if local {
			err = workflow.ExecuteLocalActivity(ctx, activityName, step).Get(ctx, nil)
		} else {
			err = workflow.ExecuteActivity(ctx, activityName, step).Get(ctx, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
