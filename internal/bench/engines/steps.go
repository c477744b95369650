package main

import (
	"context"
	"fmt"
	"time"

	"github.com/semel-dev/semel/internal/bench/contest"
	"github.com/semel-dev/semel/internal/bench/order"
)

const callers = 32

// benchSteps compares an operation of four steps in a flow with the same without
// protection, and as jobs of River.
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
	usual, err := startRiver(ctx, d, riverDefaults())
	if err != nil {
		return nil, err
	}
	defer usual.stop()
	tuned := riverDefaults()
	tuned.queue, tuned.cooldown, tuned.poll = "tuned", time.Millisecond, 100*time.Millisecond
	fast, err := startRiver(ctx, d, tuned)
	if err != nil {
		return nil, err
	}
	defer fast.stop()
	t := &contest.Table{Title: fmt.Sprintf("steps: 4 rows of 300 bytes on PostgreSQL, %d callers, time of all 4", callers)}
	c := contest.Contest{Callers: callers, Entries: append(
		entries,
		contest.Entry{Name: "River: one job of 4 resumable steps, defaults", Rival: order.Flow, One: usual.resumable},
		contest.Entry{Name: "River: the same, fetches after 1 ms, polls every 100 ms", Rival: order.Flow, One: fast.resumable},
		contest.Entry{Name: "River: a job for each step, likewise", Rival: order.Flow, One: fast.chain},
	)}
	return t, c.Run(ctx, s, t)
}
