// Package grouptest runs the tests of stores through shared batches
// (store/groupcommit). Only tests import it.
package grouptest

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/groupcommit"
	"github.com/semel-dev/semel/store/storetest"
)

// counted is a store that counts the batches it is asked for.
type counted struct {
	semel.Store

	batcher semel.Batcher
	n       *atomic.Int64
}

// Unwrap follows the convention of [semel.StoreAs].
func (c *counted) Unwrap() semel.Store { return c.Store }

// ClaimBatch implements [semel.Batcher].
func (c *counted) ClaimBatch(ctx context.Context, ps []semel.ClaimParams) ([]semel.ClaimAnswer, error) {
	c.n.Add(1)
	return c.batcher.ClaimBatch(ctx, ps)
}

// SettleBatch implements [semel.Batcher].
func (c *counted) SettleBatch(ctx context.Context, ss []semel.SettleParams) ([]error, error) {
	c.n.Add(1)
	return c.batcher.SettleBatch(ctx, ss)
}

// share puts shared batches before a store.
func share(tb testing.TB, store semel.Store, n *atomic.Int64) semel.Store {
	tb.Helper()
	batcher, ok := store.(semel.Batcher)
	if !ok {
		tb.Fatalf("a %T has no batches to share", store)
	}
	g, err := groupcommit.New(&counted{store, batcher, n}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// Harness puts shared batches before the stores of a harness. A test in which
// no batch is shared fails.
func Harness(tb testing.TB, h storetest.Harness) storetest.Harness {
	tb.Helper()
	var n atomic.Int64
	if t, ok := tb.(*testing.T); ok {
		t.Cleanup(func() {
			if n.Load() == 0 && !t.Failed() {
				t.Error("no batch was shared")
			}
		})
	}
	return func(tb testing.TB) *storetest.Instance {
		tb.Helper()
		inst := h(tb)
		inst.Store = share(tb, inst.Store, &n)
		if reopen := inst.Reopen; reopen != nil {
			inst.Reopen = func(tb testing.TB) semel.Store {
				tb.Helper()
				return share(tb, reopen(tb), &n)
			}
		}
		return inst
	}
}
