package outcomecache_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/outcomecache"
	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/store/memstore"
)

// Transaction mode replays from memory too: what a transaction met once opens
// none again, in the process that did the work and in any other one.
func TestTransactionsReplay(t *testing.T) {
	t.Parallel()
	var opened atomic.Int64
	db := memdb.New(memstore.New(nil), &memdb.Options{Fault: func(p memdb.Point) error {
		if p == memdb.Begin {
			opened.Add(1)
		}
		return nil
	}})
	var guards []*semel.Guard
	for range 2 {
		s, err := outcomecache.New(db, nil)
		must(t, err)
		g, err := semel.New(s, &semel.Options{SweepEvery: -1})
		must(t, err)
		defer g.Close()
		guards = append(guards, g)
	}
	do := func(g *semel.Guard, fp semel.Fingerprint) (string, error) {
		return semel.DoTx(t.Context(), g, db, semel.Key{Scope: "s", Name: "k"}, fp,
			func(context.Context) (string, error) { return "first", nil })
	}
	for i, g := range append(guards, guards...) {
		if got, err := do(g, semel.Fingerprint{1}); err != nil || got != "first" {
			t.Fatalf("got %q, error %v", got, err)
		}
		if i == 1 {
			opened.Store(0) // both have met it
		}
	}
	if n := opened.Load(); n > 1 {
		t.Errorf("%d transactions were opened for two replays, want one at most: by who did the work itself", n)
	}
	opened.Store(0)
	for _, g := range guards {
		if _, err := do(g, semel.Fingerprint{1}); err != nil {
			t.Error(err)
		}
		if _, err := do(g, semel.Fingerprint{2}); !errors.Is(err, semel.ErrMismatch) {
			t.Errorf("another request got %v (promise 6)", err)
		}
	}
	if n := opened.Load(); n != 0 {
		t.Errorf("%d transactions were opened for replays from memory", n)
	}
}
