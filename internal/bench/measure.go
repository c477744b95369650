package main

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// subject is one way to do the work. do executes it n times and returns when
// all are done.
type subject struct {
	name string
	do   func(ctx context.Context, n int) error
}

// sample is the median over the rounds.
type sample struct {
	nanos  float64 // per operation
	allocs float64 // per operation
}

// measure runs the subjects in turn, round after round, so that other work of
// the machine disturbs all of them alike.
func measure(ctx context.Context, s *settings, subjects []subject) ([]sample, error) {
	counts := make([]int, len(subjects))
	for i, sub := range subjects {
		n, err := calibrate(ctx, s, sub)
		if err != nil {
			return nil, err
		}
		counts[i] = n
	}
	nanos := make([][]float64, len(subjects))
	allocs := make([][]float64, len(subjects))
	for range s.rounds {
		for i, sub := range subjects {
			one, err := once(ctx, sub, counts[i])
			if err != nil {
				return nil, err
			}
			nanos[i] = append(nanos[i], one.nanos)
			allocs[i] = append(allocs[i], one.allocs)
		}
	}
	out := make([]sample, len(subjects))
	for i := range subjects {
		out[i] = sample{nanos: median(nanos[i]), allocs: median(allocs[i])}
	}
	return out, nil
}

// calibrate finds how many operations fill a round; it warms the subject up.
func calibrate(ctx context.Context, s *settings, sub subject) (int, error) {
	round := s.round
	for n := s.least; ; n *= 2 {
		one, err := once(ctx, sub, n)
		if err != nil {
			return 0, err
		}
		if took := time.Duration(one.nanos * float64(n)); took >= round/4 {
			return max(n, int(float64(n)*float64(round)/float64(took))), nil
		}
	}
}

func once(ctx context.Context, sub subject, n int) (sample, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	err := sub.do(ctx, n)
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	return sample{
		nanos:  float64(took.Nanoseconds()) / float64(n),
		allocs: float64(after.Mallocs-before.Mallocs) / float64(n),
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

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
