package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/bench/contest"
	"github.com/semel-dev/semel/internal/bench/cycle"
	"github.com/semel-dev/semel/store/sqlitestore"
)

const (
	manyCallers    = 64
	aimGroupCommit = 5.0
)

// single lets only one caller at a time into the store, so that nothing can
// share a commit: what a store without group commit does.
type single struct {
	semel.Store
	seat chan struct{}
}

func (s *single) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	s.seat <- struct{}{}
	defer func() { <-s.seat }()
	return s.Store.Claim(ctx, p)
}

func (s *single) Settle(ctx context.Context, d semel.Digest, f semel.Fence, v semel.Settlement) error {
	s.seat <- struct{}{}
	defer func() { <-s.seat }()
	return s.Store.Settle(ctx, d, f, v)
}

func benchSQLite(ctx context.Context, s *contest.Settings) (*contest.Table, error) {
	store, err := sqlitestore.Open(ctx, filepath.Join(s.Dir, "cycles.db"), nil)
	if err != nil {
		return nil, err
	}
	defer shut(store)
	alone := &single{Store: store, seat: make(chan struct{}, 1)}
	samples, err := contest.Measure(ctx, s, []contest.Subject{
		{Name: "1", Do: cycle.New(store, "a", 1).Run},
		{Name: "64 alone", Do: cycle.New(alone, "b", manyCallers).Run},
		{Name: "64 shared", Do: cycle.New(store, "c", manyCallers).Run},
	})
	if err != nil {
		return nil, err
	}
	ratio := contest.Ratio(samples[1].Rounds, samples[2].Rounds)
	perSecond := func(i int) string {
		return fmt.Sprintf("%s (%.0f/s)", contest.NanosText(samples[i].Nanos), float64(time.Second)/samples[i].Nanos)
	}
	return &contest.Table{Title: "sqlite: full cycle, claim + settle, fsynced, 300-byte outcome", Rows: []contest.Row{
		{Subject: "1 goroutine", Time: perSecond(0), Allocs: contest.AllocsText(samples[0].Allocs)},
		{Subject: "64 goroutines, one commit per operation", Time: perSecond(1), Allocs: contest.AllocsText(samples[1].Allocs)},
		{
			Subject: "64 goroutines, group commit", Time: perSecond(2), Allocs: contest.AllocsText(samples[2].Allocs),
			Against: fmt.Sprintf("%v × one commit per operation", ratio), Aim: fmt.Sprintf("≥ %.0f×", aimGroupCommit), Met: ratio.AtLeast(aimGroupCommit),
		},
	}}, nil
}
