package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/semel-dev/semel/internal/bench/contest"
	"github.com/semel-dev/semel/internal/bench/cycle"
	"github.com/semel-dev/semel/store/logstore"
	"github.com/semel-dev/semel/store/sqlitestore"
)

const aimLogMicros = 15.0

// benchLog compares the log with SQLite, which does the same durably.
func benchLog(ctx context.Context, s *contest.Settings) (*contest.Table, error) {
	lite, err := sqlitestore.Open(ctx, filepath.Join(s.Dir, "log.db"), nil)
	if err != nil {
		return nil, err
	}
	defer shut(lite)
	logged, err := logstore.Open(ctx, filepath.Join(s.Dir, "log"), nil)
	if err != nil {
		return nil, err
	}
	defer shut(logged)
	samples, err := contest.Measure(ctx, s, []contest.Subject{
		{Name: "sqlite 64", Do: cycle.New(lite, "a", manyCallers).Run},
		{Name: "log 64", Do: cycle.New(logged, "b", manyCallers).Run},
		{Name: "sqlite 1", Do: cycle.New(lite, "c", 1).Run},
		{Name: "log 1", Do: cycle.New(logged, "d", 1).Run},
	})
	if err != nil {
		return nil, err
	}
	row := func(i int, subject string) contest.Row {
		return contest.Row{Subject: subject, Time: contest.NanosText(samples[i].Nanos), Allocs: contest.AllocsText(samples[i].Allocs)}
	}
	rows := []contest.Row{row(0, "64 goroutines, sqlite"), row(1, "64 goroutines, log"), row(2, "1 goroutine, sqlite"), row(3, "1 goroutine, log")}
	for i := 1; i < len(rows); i += 2 {
		rows[i].Against = fmt.Sprintf("%v × sqlite", contest.Ratio(samples[i-1].Rounds, samples[i].Rounds))
	}
	rows[1].Aim, rows[1].Met = fmt.Sprintf("≤ %.0f µs", aimLogMicros), contest.ValueOf(samples[1].Rounds).AtMost(aimLogMicros*float64(time.Microsecond))
	return &contest.Table{Title: "log: full cycle, claim + settle, synced, 300-byte outcome", Rows: rows}, nil
}
