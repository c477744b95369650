package storetest_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

// The test file of a store: a harness that opens a fresh one with a clock that
// the suite moves, and two tests.
func ExampleRun() { //nolint:testableexamples // a suite runs in a test.
	harness := func(testing.TB) *storetest.Instance {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		var mu sync.Mutex // guards now
		return &storetest.Instance{
			Store: memstore.New(&memstore.Options{Now: func() time.Time {
				mu.Lock()
				defer mu.Unlock()
				return now
			}}),
			Advance: func(d time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				now = now.Add(d)
			},
		}
	}
	TestStore := func(t *testing.T) { storetest.Run(t, harness) }                  //nolint:thelper // a test.
	TestStoreUnderFaults := func(t *testing.T) { storetest.RunFaults(t, harness) } //nolint:thelper // a test.
	_, _ = TestStore, TestStoreUnderFaults
}

// A database that takes part in transactions is tested with a table of
// business rows next to the records. Here it is one in memory.
func ExampleRunTx() { //nolint:testableexamples // a suite runs in a test.
	harness := func(testing.TB) *storetest.TxInstance {
		var ahead atomic.Int64
		started := time.Now()
		store := memstore.New(&memstore.Options{Now: func() time.Time {
			return started.Add(time.Since(started) + time.Duration(ahead.Load()))
		}})
		db := memdb.New(store, nil)
		return &storetest.TxInstance{
			Store: db, Transactor: db, Second: db.Pool(), Connections: memdb.DefaultConnections,
			Insert:  db.Insert,
			Count:   func(_ context.Context, row string) (int, error) { return db.Count(row), nil },
			Advance: func(d time.Duration) { ahead.Add(int64(d)) },
			Running: true, // the clock also runs on its own
		}
	}
	TestTx := func(t *testing.T) { storetest.RunTx(t, harness) } //nolint:thelper // a test.
	_ = TestTx
}
