package main

import (
	"context"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel/internal/bench/contest"
)

// cpu reads the CPU time of this process and of the server's processes on this machine. Where others are at work, it says more
// than times do.
func (s *shop) cpu(ctx context.Context) ([]contest.Counter, error) {
	rows, err := s.pool.Query(ctx, "SELECT pid FROM pg_stat_activity")
	if err != nil {
		return nil, err
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	if err != nil {
		return nil, err
	}
	server := time.Duration(0)
	for _, pid := range pids {
		server += contest.CPUTime(int(pid))
	}
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return nil, err
	}
	micros := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	client := time.Duration(own.Utime.Nano() + own.Stime.Nano())
	return []contest.Counter{{Name: "µs CPU here", Value: micros(client)}, {Name: "at the server", Value: micros(server)}}, nil
}
