package main

import (
	"context"
	"fmt"
	"os"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/bench/contest"
	"github.com/semel-dev/semel/internal/bench/order"
)

// rescueAfter is as long as Semel's lease, for River's RescueStuckJobsAfter and JobTimeout.
const rescueAfter = semel.DefaultLease

const riverVictim = "river"

// benchTakeover measures the time from kill -9 in a step until another process has
// finished the operation.
func benchTakeover(ctx context.Context, _ *contest.Settings) (*contest.Table, error) {
	ctx, end := context.WithCancel(ctx)
	var drops []func()
	defer func() {
		end()
		for _, drop := range drops {
			drop()
		}
	}()
	works := func(s riverSettings) func(context.Context, *order.Database) error {
		return func(ctx context.Context, d *order.Database) error {
			_, err := startRiver(ctx, d, s)
			return err
		}
	}
	quick := riverDefaults()
	quick.rescueAfter, quick.jobTimeout = rescueAfter, rescueAfter
	var all []contest.Takeover
	for _, one := range []struct {
		name, victim  string
		ready, killed func(context.Context, *order.Database) error
	}{
		{"a flow that its caller retries, defaults", order.FlowVictim, nil, order.Retried},
		{"a flow that nothing retries, the background's defaults", order.FlowVictim, order.InBackground, nil},
		{"River, defaults: RescueStuckJobsAfter is an hour", riverVictim, works(riverDefaults()), nil},
		{fmt.Sprintf("River, RescueStuckJobsAfter and JobTimeout %v", rescueAfter), riverVictim, works(quick), nil},
	} {
		t, drop, err := order.Takeover(ctx, one.name, one.victim, one.ready, one.killed)
		if err != nil {
			return nil, err
		}
		all, drops = append(all, t), append(drops, drop)
	}
	return contest.Takeovers(ctx, "takeover: kill -9 in the third of 4 steps, until another process has done the fourth", all)
}

// victim does the work that the environment names, until it is killed.
func victim(ctx context.Context, kind string) int {
	err := order.Hang
	if kind == riverVictim {
		err = hangInRiver
	}
	fmt.Fprintln(os.Stderr, "engines: the victim was not killed:", err(ctx))
	return 1
}

func hangInRiver(ctx context.Context) error {
	d, err := order.OpenToHang(ctx)
	if err != nil {
		return err
	}
	q, err := startRiver(ctx, d, riverDefaults())
	if err != nil {
		return err
	}
	return q.resumable(ctx)
}
