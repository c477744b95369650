package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/bench/contest"
	"github.com/semel-dev/semel/internal/bench/cycle"
	"github.com/semel-dev/semel/store/logstore"
	"github.com/semel-dev/semel/store/sqlitestore"
)

const (
	embeddedCallers = 64
	bigMemtable     = 64 << 20
	smallMemtable   = 2 << 20 // Pebble writes over the files of its log again while they are small
	claimBytes      = 100
)

// benchEmbedded compares a whole cycle on SQLite and on a log with what a kept engine needs for its reads and synced
// writes alone.
func benchEmbedded(ctx context.Context, s *contest.Settings) (*contest.Table, error) {
	lite, err := sqlitestore.Open(ctx, filepath.Join(s.Dir, "embedded.db"), nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = lite.Close() }() // only measured
	logged, err := logstore.Open(ctx, filepath.Join(s.Dir, "embedded.log"), nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = logged.Close() }()
	big, err := openPebble(filepath.Join(s.Dir, "big"), bigMemtable)
	if err != nil {
		return nil, err
	}
	defer func() { _ = big.Close() }()
	small, err := openPebble(filepath.Join(s.Dir, "small"), smallMemtable)
	if err != nil {
		return nil, err
	}
	defer func() { _ = small.Close() }()
	t := &contest.Table{Title: fmt.Sprintf("embedded: claim and settle, synced, %d bytes; Pebble without records, fences and expiry", cycle.OutcomeBytes)}
	for _, callers := range []int{embeddedCallers, 1} {
		name := func(engine string) string { return fmt.Sprintf("%d callers, %s", callers, engine) }
		prefix := strconv.Itoa(callers) + "-"
		rival := name("SQLite")
		c := contest.Contest{Callers: callers, Entries: []contest.Entry{
			{Name: rival, One: cycle.New(lite, prefix, callers).One},
			{Name: name("log"), Rival: rival, One: cycle.New(logged, prefix, callers).One},
			{Name: name("Pebble, memtables of 64 MiB"), Rival: rival, One: bareCycle(big, prefix)},
			{Name: name("Pebble, memtables of 2 MiB"), Rival: rival, One: bareCycle(small, prefix)},
		}}
		if err := c.Run(ctx, s, t); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func openPebble(dir string, memtable uint64) (*pebble.DB, error) {
	return pebble.Open(dir, &pebble.Options{MemTableSize: memtable, Logger: silent{pebble.DefaultLogger}})
}

// bareCycle looks a key up, writes a claim and then an outcome, and waits for the disk each time.
func bareCycle(db *pebble.DB, prefix string) func(context.Context) error {
	var serial atomic.Int64
	claim, outcome := make([]byte, claimBytes), make([]byte, cycle.OutcomeBytes)
	return func(context.Context) error {
		key := semel.Key{Scope: cycle.Scope, Name: prefix + strconv.FormatInt(serial.Add(1), 10)}.Digest()
		if _, closer, err := db.Get(key[:]); err == nil {
			return errors.Join(fmt.Errorf("the fresh key %v is there", key), closer.Close())
		} else if !errors.Is(err, pebble.ErrNotFound) {
			return err
		}
		if err := db.Set(key[:], claim, pebble.Sync); err != nil {
			return err
		}
		return db.Set(key[:], outcome, pebble.Sync)
	}
}

// silent says nothing of what is well.
type silent struct{ pebble.Logger }

func (silent) Infof(string, ...any) {}
