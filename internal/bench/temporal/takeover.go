package main

import (
	"context"
	"fmt"
	"os"

	"go.temporal.io/sdk/client"

	"github.com/semel-dev/semel/internal/bench/contest"
	"github.com/semel-dev/semel/internal/bench/order"
)

const (
	addressVar   = "SEMEL_BENCH_TEMPORAL"
	namespaceVar = "SEMEL_BENCH_NAMESPACE"

	activityVictim = "activity"
	localVictim    = "local activity"
)

// benchTakeover measures the time from kill -9 in a step until another process has
// finished the operation. Each has a server of its own, because workers of one task queue
// share it.
func benchTakeover(ctx context.Context, _ *contest.Settings) (*contest.Table, error) {
	ctx, end := context.WithCancel(ctx)
	var drops []func()
	defer func() {
		end()
		for _, drop := range drops {
			drop()
		}
	}()
	var all []contest.Takeover
	for _, one := range []struct {
		name, victim  string
		ready, killed func(context.Context, *order.Database) error
	}{
		{"a flow that its caller retries, defaults", order.FlowVictim, nil, order.Retried},
		{"a flow that nothing retries, the background's defaults", order.FlowVictim, order.InBackground, nil},
		{fmt.Sprintf("Temporal, an activity with StartToCloseTimeout %v", stepTimeout), activityVictim, nil, nil},
		{fmt.Sprintf("Temporal, a local activity with StartToCloseTimeout %v", stepTimeout), localVictim, nil, nil},
	} {
		var env []string
		if one.victim != order.FlowVictim {
			e, err := startServer()
			if err != nil {
				return nil, err
			}
			drops = append(drops, e.stop)
			env = []string{addressVar + "=" + e.server.GetFrontendHostPort(), namespaceVar + "=" + e.server.GetDefaultNamespace()}
			one.ready = func(_ context.Context, d *order.Database) error {
				_, err := startWorker(d, e.client)
				return err
			}
		}
		t, drop, err := order.Takeover(ctx, one.name, one.victim, one.ready, one.killed)
		if err != nil {
			return nil, err
		}
		t.Env = append(t.Env, env...)
		all, drops = append(all, t), append(drops, drop)
	}
	return contest.Takeovers(ctx, "takeover: kill -9 in the third of 4 steps, until another process has done the fourth", all)
}

// hang runs the workflow and its worker, until the process is killed.
func hang(ctx context.Context, kind string) error {
	d, err := order.OpenToHang(ctx)
	if err != nil {
		return err
	}
	c, err := dial(os.Getenv(addressVar), os.Getenv(namespaceVar))
	if err != nil {
		return err
	}
	if _, err := startWorker(d, c); err != nil {
		return err
	}
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: taskQueue}, workflowName, kind == localVictim)
	if err != nil {
		return err
	}
	return run.Get(ctx, nil)
}
