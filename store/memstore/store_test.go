package memstore_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

// clock is moved by hand.
type clock struct{ ms atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ms.Store(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).UnixMilli())
	return c
}

func (c *clock) now() time.Time { return time.UnixMilli(c.ms.Load()) }

func (c *clock) advance(d time.Duration) { c.ms.Add(d.Milliseconds()) }

func open(testing.TB) *storetest.Instance {
	c := newClock()
	return &storetest.Instance{Store: memstore.New(&memstore.Options{Now: c.now}), Advance: c.advance}
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, open)
}

func TestStoreUnderFaults(t *testing.T) {
	t.Parallel()
	storetest.RunFaults(t, open)
}

func BenchmarkStore(b *testing.B) { storetest.Benchmark(b, open) }
