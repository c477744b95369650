package gateway

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/store/memstore"
)

// claimless answers questions and, while it is set, takes no claims, as a replica does.
type claimless struct {
	semel.Store
	err    error
	claims atomic.Int64
}

func (c *claimless) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	c.claims.Add(1)
	if c.err != nil {
		return semel.Record{}, false, c.err
	}
	return c.Store.Claim(ctx, p)
}

// TestReadiness: a gateway is ready while its store takes claims. Those of callers speak for it, and where there are none, one of
// its own, as often as they are missing.
func TestReadiness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, r, errFull := &claimless{Store: memstore.New(nil)}, newReadiness(), errors.New("read-only")
		defer func() { _ = store.Close() }()
		want := func(what string, claims int64, err error) {
			t.Helper()
			if got := r.probe(t.Context(), store); !errors.Is(got, err) || err == nil && got != nil {
				t.Errorf("%s: got %v, want %v", what, got, err)
			}
			if got := store.claims.Swap(0); got != claims {
				t.Errorf("%s: asked the store %d times, want %d", what, got, claims)
			}
		}
		want("at the start", 1, nil)
		store.err = errFull
		want("just after", 0, nil)
		r.notes(t.Context(), semel.BeginInfo{Outcome: outcomelog.Unavailable, Err: errors.Join(semel.ErrUnavailable, semel.ErrBusy)})
		want("when a caller met a full queue", 0, nil)
		time.Sleep(readyFor)
		want("without callers", 1, errFull)
		want("and again", 1, errFull)
		store.err = nil
		want("when it takes claims again", 1, nil)
		r.notes(t.Context(), semel.BeginInfo{Outcome: outcomelog.Unavailable, Err: semel.ErrUnavailable})
		want("when a caller was refused", 1, nil)
		time.Sleep(readyFor)
		r.notes(t.Context(), semel.BeginInfo{Outcome: outcomelog.Claimed})
		want("when a caller has just claimed", 0, nil)
		if n, err := store.Store.(*memstore.Store).Count(t.Context()); n != 0 || err != nil {
			t.Errorf("it left %d records, error %v", n, err)
		}
	})
}
