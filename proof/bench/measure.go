package main

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// subject is one way to do the work. Do executes it n times and returns when all are done.
type subject struct {
	Name string
	Do   func(ctx context.Context, n int) error
}

// sample holds the measurements of a subject.
type sample struct {
	Nanos  float64   // per operation, the median of the rounds
	Allocs float64   // per operation, likewise
	Rounds []float64 // nanoseconds per operation in each round
}

// measure runs the subjects in turn, round after round, so that other work of the machine disturbs all of them alike.
func measure(ctx context.Context, s *settings, subjects []subject) ([]sample, error) {
	counts := make([]int, len(subjects))
	for i, sub := range subjects {
		n, err := calibrate(ctx, s, sub)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sub.Name, err)
		}
		counts[i] = n
	}
	nanos := make([][]float64, len(subjects))
	allocs := make([][]float64, len(subjects))
	for range s.Rounds {
		for i, sub := range subjects {
			one, err := once(ctx, sub, counts[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", sub.Name, err)
			}
			nanos[i] = append(nanos[i], one.Nanos)
			allocs[i] = append(allocs[i], one.Allocs)
		}
	}
	out := make([]sample, len(subjects))
	for i := range subjects {
		out[i] = sample{Nanos: valueOf(nanos[i]).Median, Allocs: valueOf(allocs[i]).Median, Rounds: nanos[i]}
	}
	return out, nil
}

// calibrate finds how many operations fill a round; it warms the subject up.
func calibrate(ctx context.Context, s *settings, sub subject) (int, error) {
	round := s.Round
	for n := s.Least; ; n *= 2 {
		one, err := once(ctx, sub, n)
		if err != nil {
			return 0, err
		}
		if took := time.Duration(one.Nanos * float64(n)); took >= round/4 {
			return max(n, int(float64(n)*float64(round)/float64(took))), nil
		}
	}
}

func once(ctx context.Context, sub subject, n int) (sample, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	err := sub.Do(ctx, n)
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	return sample{
		Nanos:  float64(took.Nanoseconds()) / float64(n),
		Allocs: float64(after.Mallocs-before.Mallocs) / float64(n),
	}, err
}

// spread does n operations by so many callers at a time.
func spread(ctx context.Context, callers, n int, one func(context.Context) error) error {
	var left atomic.Int64
	left.Store(int64(n))
	group, ctx := errgroup.WithContext(ctx)
	for range callers {
		group.Go(func() error {
			for left.Add(-1) >= 0 {
				if err := one(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
