package groupcommit_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/storerace"
	"github.com/semel-dev/semel/store/groupcommit"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

// harness is a store in memory whose clock is moved by hand, behind shared
// batches. tune makes the batcher fail. A test in which no claim shares a batch with
// a settlement fails.
func harness(tb testing.TB, o *groupcommit.Options, tune func(*batcher)) storetest.Harness {
	tb.Helper()
	var shared atomic.Int64
	if t, ok := tb.(*testing.T); ok {
		t.Cleanup(func() {
			if shared.Load() == 0 {
				t.Error("no claim ever shared a batch with a settlement")
			}
		})
	}
	return func(tb testing.TB) *storetest.Instance {
		tb.Helper()
		var ms atomic.Int64
		ms.Store(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).UnixMilli())
		b := newBatcher(memstore.New(&memstore.Options{Now: func() time.Time { return time.UnixMilli(ms.Load()) }}))
		tune(b)
		s, err := groupcommit.New(b, o)
		noError(tb, err)
		return &storetest.Instance{
			Store:   s,
			Advance: func(d time.Duration) { ms.Add(d.Milliseconds()) },
			Check: func(tb testing.TB) {
				tb.Helper()
				inFlight := 2
				if o != nil && o.InFlight > 0 {
					inFlight = o.InFlight
				}
				b.check(tb, inFlight)
				shared.Add(int64(b.mixed()))
			},
		}
	}
}

func slowly(b *batcher) { b.before = slow }

// Promises 1 and 2 hold through shared batches.
func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness(t, nil, slowly))
}

func TestStoreInSmallBatches(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness(t, &groupcommit.Options{MaxBatch: 3, InFlight: 1, MaxQueue: 5}, slowly))
}

func TestStoreThatWaitsForCompany(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness(t, &groupcommit.Options{MaxDelay: 200 * time.Microsecond, MaxBatch: 4}, slowly))
}

// Batches that fail before they took a step go unnoticed.
func TestStoreWithBatchesThatFail(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness(t, nil, func(b *batcher) {
		fail := sometimes(1)
		b.before = func(ctx context.Context, c call) error {
			_ = slow(ctx, c)
			return fail(ctx, c)
		}
	}))
}

func TestStoreUnderFaults(t *testing.T) {
	t.Parallel()
	storetest.RunFaults(t, harness(t, nil, slowly))
}

// Batches whose reply is lost are like verbs whose reply is lost.
func TestStoreWithBatchesWhoseReplyIsLost(t *testing.T) {
	t.Parallel()
	storetest.RunFaults(t, harness(t, nil, func(b *batcher) { b.before, b.after = slow, sometimes(2) }))
}

// Several processes, each with batches of its own, race over one store.
func TestRace(t *testing.T) {
	t.Parallel()
	shared := memstore.New(nil)
	closes(t, shared)
	report, err := storerace.Run(t.Context(), func() (semel.Store, error) {
		b := newBatcher(session{shared})
		b.before = slow
		return groupcommit.New(b, nil)
	}, &storerace.Options{Claims: 16, Waiters: 8})
	if err != nil || len(report.Violations) > 0 {
		t.Errorf("%v: %v", err, report.Violations)
	}
}

// session is one connection to a shared store: closing it leaves the store open.
type session struct{ semel.Store }

func (session) Close() error { return nil }
