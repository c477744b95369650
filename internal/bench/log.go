package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/bench/contest"
	"github.com/semel-dev/semel/internal/bench/cycle"
	"github.com/semel-dev/semel/store/logstore"
	"github.com/semel-dev/semel/store/sqlitestore"
)

const (
	aimLogMicros   = 15.0
	aimLogLarge    = 1.1
	aimLogMemory   = 250 << 20
	fewLogRecords  = 10_000
	manyLogRecords = 10_000_000
)

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

// benchLogLarge compares a log of few records with one of many, and reports their memory.
func benchLogLarge(ctx context.Context, s *contest.Settings) (*contest.Table, error) {
	var stores [2]*logstore.Store
	var fill [2]time.Duration
	for i, n := range []int{fewLogRecords, manyLogRecords} {
		store, err := logstore.Open(ctx, filepath.Join(s.Dir, "log"+strconv.Itoa(n)), nil)
		if err != nil {
			return nil, err
		}
		defer shut(store)
		began := time.Now()
		if err := cycle.New(store, "fill", manyCallers).Run(ctx, n); err != nil {
			return nil, err
		}
		stores[i], fill[i] = store, time.Since(began)
	}
	runtime.GC()
	debug.FreeOSMemory()
	memory := residentBytes()
	samples, err := contest.Measure(ctx, s, []contest.Subject{
		{Name: "few", Do: cycle.New(stores[0], "a", manyCallers).Run},
		{Name: "many", Do: cycle.New(stores[1], "b", manyCallers).Run},
		{Name: "few, replay", Do: replayer(stores[0], fewLogRecords)},
		{Name: "many, replay", Do: replayer(stores[1], manyLogRecords)},
	})
	if err != nil {
		return nil, err
	}
	ratio := contest.Ratio(samples[1].Rounds, samples[0].Rounds)
	if err := stores[1].Close(); err != nil {
		return nil, err
	}
	began := time.Now()
	again, err := logstore.Open(ctx, filepath.Join(s.Dir, "log"+strconv.Itoa(manyLogRecords)), nil)
	if err != nil {
		return nil, err
	}
	defer shut(again)
	return &contest.Table{Title: fmt.Sprintf("log: %d records and %d", manyLogRecords, fewLogRecords), Rows: []contest.Row{
		{Subject: "cycle among few", Time: contest.NanosText(samples[0].Nanos)},
		{
			Subject: "cycle among many", Time: contest.NanosText(samples[1].Nanos), Against: fmt.Sprintf("%v × the time among few", ratio),
			Aim: fmt.Sprintf("≤ %.1f×", aimLogLarge), Met: ratio.AtMost(aimLogLarge),
		},
		{Subject: "replay among few", Time: contest.NanosText(samples[2].Nanos)},
		{Subject: "replay among many", Time: contest.NanosText(samples[3].Nanos), Against: fmt.Sprintf("%v × the time among few", contest.Ratio(samples[3].Rounds, samples[2].Rounds))},
		{
			Subject: "resident memory with many", Time: fmt.Sprintf("%d MiB", memory>>20),
			Aim: fmt.Sprintf("≤ %d MiB", int64(aimLogMemory)>>20), Met: contest.VerdictOf(memory <= aimLogMemory),
		},
		{Subject: "filling it", Time: fill[1].Round(time.Second).String()},
		{Subject: "opening it", Time: time.Since(began).Round(time.Millisecond).String()},
	}}, nil
}

// replayer looks up existing records.
func replayer(store semel.Store, records int) func(context.Context, int) error {
	return func(ctx context.Context, n int) error {
		for i := range n {
			name := "fill" + strconv.Itoa(1+i*7919%records)
			if _, err := store.Lookup(ctx, semel.Key{Scope: cycle.Scope, Name: name}.Digest()); err != nil {
				return fmt.Errorf("look up %s: %w", name, err)
			}
		}
		return nil
	}
}

// residentBytes returns how much memory the process holds; 0 where the system does not report it.
func residentBytes() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmRSS:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}
