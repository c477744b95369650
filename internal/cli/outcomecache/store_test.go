package outcomecache_test

import (
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/outcomecache"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is moved by hand.
type clock struct{ ms atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ms.Store(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).UnixMilli())
	return c
}

func (c *clock) now() time.Time { return time.UnixMilli(c.ms.Load()) }

func (c *clock) advance(d time.Duration) { c.ms.Add(d.Milliseconds()) }

// cached puts a cache, whose clock is moved together with the store's, before
// the store.
func cached(tb testing.TB, inner semel.Store, c *clock, o outcomecache.Options) *outcomecache.Store {
	tb.Helper()
	o.SetNow(c.now)
	s, err := outcomecache.New(inner, &o)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func open(tb testing.TB) *storetest.Instance {
	tb.Helper()
	c := newClock()
	inner := memstore.New(&memstore.Options{Now: c.now})
	return &storetest.Instance{Store: cached(tb, inner, c, outcomecache.Options{}), Advance: c.advance}
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, open)
}

func TestStoreUnderFaults(t *testing.T) {
	t.Parallel()
	storetest.RunFaults(t, open)
}
