package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/logstore"
	"github.com/semel-dev/semel/store/sqlitestore"
)

const (
	manyCallers    = 64
	aimGroupCommit = 5.0
	aimLog         = 15 * time.Microsecond
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

// benchFiles compares SQLite with and without shared commits, and the log, which does the same durably.
func benchFiles(ctx context.Context, s *settings) (*table, error) {
	lite, err := sqlitestore.Open(ctx, filepath.Join(s.Dir, "cycles.db"), nil)
	if err != nil {
		return nil, err
	}
	defer shut(lite)
	logged, err := logstore.Open(ctx, filepath.Join(s.Dir, "cycles.log"), nil)
	if err != nil {
		return nil, err
	}
	defer shut(logged)
	const alone, shared, one = "SQLite, 64 callers, a commit for each step", "SQLite, 64 callers", "SQLite, 1 caller"
	t := &table{Title: fmt.Sprintf("files: full cycle, claim + settle, synced, %d-byte outcome", rowBytes)}
	many := contest{Callers: manyCallers, Entries: []entry{
		{Name: alone, One: newCycler(&single{Store: lite, seat: make(chan struct{}, 1)}, "a", 0).one},
		{Name: shared, One: newCycler(lite, "b", 0).one, Rival: alone, Aim: aimGroupCommit},
		{Name: "log, 64 callers", One: newCycler(logged, "c", 0).one, Rival: shared, Within: aimLog},
	}}
	few := contest{Callers: 1, Entries: []entry{
		{Name: one, One: newCycler(lite, "d", 0).one},
		{Name: "log, 1 caller", One: newCycler(logged, "e", 0).one, Rival: one},
	}}
	if err := many.Run(ctx, s, t); err != nil {
		return nil, err
	}
	return t, few.Run(ctx, s, t)
}
