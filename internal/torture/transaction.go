package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/mayhem"
	"github.com/semel-dev/semel/internal/openstore"
)

const scope = "torture"

// runTransaction tortures writers that use a store's Do.
func runTransaction(ctx context.Context, s *settings, b backend, long time.Duration, random *rand.Rand) (result, error) {
	l := newLedger()
	m := &trouble{backend: b, random: random, killsIn: 150 * time.Millisecond}
	began := strconv.FormatInt(time.Now().UnixMilli(), 10)
	driver, rows := b.business()
	for range s.writers {
		c := &mayhem.Child{Log: s.log, Lines: l.note, Start: func(ctx context.Context) *exec.Cmd {
			return exec.CommandContext(ctx, s.self, childWriter, driver, b.dsn(), rows, began) //nolint:gosec // this program.
		}}
		if err := c.Up(ctx); err != nil {
			return result{}, err
		}
		m.children = append(m.children, c)
	}
	err := m.run(ctx, long)
	for _, c := range m.children {
		err = errors.Join(err, c.End())
	}
	if err != nil {
		return result{}, err
	}
	l.result.kills, l.result.crashes, l.result.cuts = m.kills, m.crashes, m.cuts
	return checkTransaction(ctx, b, l)
}

// checkTransaction also looks whether rows and recorded outcomes are the same
// set (promise 4).
func checkTransaction(ctx context.Context, b backend, l *ledger) (result, error) {
	rows, err := readRows(ctx, b)
	if err != nil {
		return result{}, err
	}
	store, err := openRecords(ctx, b)
	if err != nil {
		return result{}, err
	}
	defer func() { _ = store.Close() }() // only read from
	completed := 0
	lister, ok := semel.StoreAs[semel.Lister](store)
	if !ok {
		return result{}, errors.New("the store is no semel.Lister")
	}
	var before semel.Fence
	for {
		recs, err := lister.List(ctx, semel.ListParams{Before: before, States: []semel.State{semel.StateCompleted}})
		if err != nil {
			return result{}, err
		}
		for _, rec := range recs {
			completed++
			before = rec.Fence
			if len(rows[rec.Name]) == 0 {
				l.result.violation("key %s has a recorded outcome, but no row", rec.Name)
			}
		}
		if len(recs) < semel.MaxListLimit {
			break
		}
	}
	r, err := l.check(rows, func(key string) (bool, error) {
		rec, err := store.Lookup(ctx, semel.Key{Scope: scope, Name: key}.Digest())
		if errors.Is(err, semel.ErrNotFound) {
			return false, nil
		}
		return rec.State == semel.StateCompleted, err
	})
	if err == nil && completed != len(rows) {
		r.violation("%d outcomes are recorded, and %d keys have rows", completed, len(rows))
	}
	return r, err
}

// openRecords opens the store in which transaction mode keeps its records.
func openRecords(ctx context.Context, b backend) (semel.Store, error) {
	driver, rows := b.business()
	if driver == "sqlite" {
		return openWithin(ctx, rows)
	}
	store, err := openstore.Open(ctx, b.dsn(), &openstore.Options{Use: openstore.Inspect})
	if err != nil {
		return nil, fmt.Errorf("open the records: %w", err)
	}
	return store, nil
}
