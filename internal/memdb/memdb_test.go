package memdb_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hands is a clock that moves only when told.
type hands struct{ ms atomic.Int64 }

func (h *hands) now() time.Time          { return time.UnixMilli(1_790_000_000_000 + h.ms.Load()) }
func (h *hands) advance(d time.Duration) { h.ms.Add(d.Milliseconds()) }

func open(o *memdb.Options) (*memdb.DB, *hands) {
	clock := &hands{}
	return memdb.New(memstore.New(&memstore.Options{Now: clock.now}), o), clock
}

func openStore(testing.TB) *storetest.Instance {
	db, clock := open(nil)
	return &storetest.Instance{Store: db, Advance: clock.advance}
}

func openTx(o *memdb.Options) storetest.TxHarness {
	return func(testing.TB) *storetest.TxInstance {
		db, clock := open(o)
		return &storetest.TxInstance{
			Store: db, Transactor: db, Second: db.Pool(), Connections: 4,
			Insert:  db.Insert,
			Count:   func(_ context.Context, row string) (int, error) { return db.Count(row), nil },
			Advance: clock.advance,
			Check: func(tb testing.TB) {
				tb.Helper()
				if !db.Idle() {
					tb.Error("a transaction is still open")
				}
			},
		}
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, openStore)
}

func TestTx(t *testing.T) {
	t.Parallel()
	storetest.RunTx(t, openTx(&memdb.Options{Connections: 4}))
}

func TestTxOneConnection(t *testing.T) {
	t.Parallel()
	h := openTx(&memdb.Options{Connections: 1})
	storetest.RunTx(t, func(tb testing.TB) *storetest.TxInstance {
		tb.Helper()
		inst := h(tb)
		inst.Connections = 1
		return inst
	})
}

func TestTxOptimistic(t *testing.T) {
	t.Parallel()
	storetest.RunTx(t, openTx(&memdb.Options{Optimistic: true}))
}
