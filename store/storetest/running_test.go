package storetest_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

// TestRunningClock shows that the suite also fits a store whose clock can be
// moved, but not stopped.
func TestRunningClock(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(testing.TB) *storetest.Instance {
		var ahead atomic.Int64
		started := time.Now()
		return &storetest.Instance{
			Store: memstore.New(&memstore.Options{Now: func() time.Time {
				return started.Add(time.Since(started) + time.Duration(ahead.Load()))
			}}),
			Advance: func(d time.Duration) { ahead.Add(int64(d)) },
			Running: true,
		}
	})
}

func TestRunningClockOfTransactions(t *testing.T) {
	t.Parallel()
	storetest.RunTx(t, func(testing.TB) *storetest.TxInstance {
		var ahead atomic.Int64
		started := time.Now()
		db := memdb.New(memstore.New(&memstore.Options{Now: func() time.Time {
			return started.Add(time.Since(started) + time.Duration(ahead.Load()))
		}}), nil)
		return &storetest.TxInstance{
			Store: db, Transactor: db, Second: db.Pool(), Connections: memdb.DefaultConnections, Insert: db.Insert,
			Count:   func(_ context.Context, row string) (int, error) { return db.Count(row), nil },
			Advance: func(d time.Duration) { ahead.Add(int64(d)) },
			Running: true,
		}
	})
}
