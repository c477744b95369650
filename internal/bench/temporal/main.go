// Command temporal measures a flow against Temporal, with a real server in this
// process, and how long each takes until another process goes on with work whose
// process was killed. It is a module of its own that only make bench-temporal and
// make test-long compile, because the first build of the server takes minutes.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"go.temporal.io/sdk/client"

	"github.com/semel-dev/semel/internal/bench/contest"
	"github.com/semel-dev/semel/internal/bench/order"
)

const callers = 32

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if kind := os.Getenv(contest.VictimVar); kind != "" {
		err := order.Hang
		if kind != order.FlowVictim {
			err = func(ctx context.Context) error { return hang(ctx, kind) }
		}
		fmt.Fprintln(os.Stderr, "temporal: the victim was not killed:", err(ctx))
		os.Exit(1)
	}
	os.Exit(contest.Main(ctx, []contest.Section{
		{Name: "steps", Run: benchSteps},
		{Name: "takeover", Run: benchTakeover},
	}, ".", os.Args[1:], os.Stdout, os.Stderr))
}

// benchSteps compares an operation of four steps in a flow with the same without
// protection, and as activities of Temporal, whose own state is in memory.
func benchSteps(ctx context.Context, s *contest.Settings) (*contest.Table, error) {
	d, err := order.Open(ctx, "", nil)
	if err != nil {
		return nil, err
	}
	defer d.Drop()
	entries, err := d.Entries()
	if err != nil {
		return nil, err
	}
	e, err := startServer()
	if err != nil {
		return nil, err
	}
	defer e.stop()
	w, err := startWorker(d, e.client)
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	run := func(local bool) func(context.Context) error {
		return func(ctx context.Context) error {
			run, err := e.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: taskQueue}, workflowName, local)
			if err != nil {
				return err
			}
			return run.Get(ctx, nil)
		}
	}
	t := &contest.Table{Title: fmt.Sprintf("steps: 4 rows of 300 bytes on PostgreSQL, %d callers, time of all 4; Temporal's own state in memory", callers)}
	c := contest.Contest{Callers: callers, Entries: append(
		entries,
		contest.Entry{Name: "Temporal: 4 activities", Rival: order.Flow, One: run(false)},
		contest.Entry{Name: "Temporal: 4 local activities", Rival: order.Flow, One: run(true)},
	)}
	return t, c.Run(ctx, s, t)
}
