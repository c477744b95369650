package semel_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
)

// turns lets the verbs of several stores happen in a given order; once that is used up, in any.
type turns struct {
	mu    sync.Mutex // guards order
	moved *sync.Cond
	order string // who is next, a letter for each verb
}

func newTurns(order string) *turns {
	t := &turns{order: order}
	t.moved = sync.NewCond(&t.mu)
	return t
}

// take does one verb when it is the turn of who.
func (t *turns) take(who string, verb func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.order != "" && t.order[:1] != who {
		t.moved.Wait()
	}
	verb()
	if t.order != "" {
		t.order = t.order[1:]
	}
	t.moved.Broadcast()
}

// leave gives up the remaining turns of who.
func (t *turns) leave(who string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.order = string(slices.DeleteFunc([]byte(t.order), func(b byte) bool { return string(b) == who }))
	t.moved.Broadcast()
}

// ordered is one process's view of a store.
type ordered struct {
	*memstore.Store
	turns *turns
	who   string
}

func (o *ordered) Claim(ctx context.Context, p semel.ClaimParams) (rec semel.Record, won bool, err error) {
	o.turns.take(o.who, func() { rec, won, err = o.Store.Claim(ctx, p) })
	return rec, won, err
}

func (o *ordered) Settle(ctx context.Context, d semel.Digest, f semel.Fence, s semel.Settlement) (err error) {
	o.turns.take(o.who, func() { err = o.Store.Settle(ctx, d, f, s) })
	return err
}

func (o *ordered) Lookup(ctx context.Context, d semel.Digest) (rec semel.Record, err error) {
	o.turns.take(o.who, func() { rec, err = o.Store.Lookup(ctx, d) })
	return rec, err
}

// orders returns every order of n verbs of a and n of b.
func orders(n int) []string {
	var all []string
	var extend func(order string, a, b int)
	extend = func(order string, a, b int) {
		if a == 0 && b == 0 {
			all = append(all, order)
			return
		}
		if a > 0 {
			extend(order+"a", a-1, b)
		}
		if b > 0 {
			extend(order+"b", a, b-1)
		}
	}
	extend("", n, n)
	return all
}

// inEveryOrder runs act for process "a", which names new records by the new
// secret, and for "b", which names them by the old one, at once, in every order
// of their first verbs. before prepares the store, after looks at what became.
func inEveryOrder(
	t *testing.T, p semel.Policy, before func(*testing.T, semel.Store), act func(t *testing.T, who string, g *semel.Guard), after func(t *testing.T),
) {
	t.Helper()
	for _, order := range orders(5) {
		synctest.Test(t, func(t *testing.T) {
			store, turns := memstore.New(nil), newTurns(order)
			before(t, store)
			var both sync.WaitGroup
			for who, secrets := range map[string][][]byte{"a": newFirst(), "b": oldFirst()} {
				g := newGuard(t, &ordered{Store: store, turns: turns, who: who}, secretOptions(p, secrets...))
				both.Go(func() {
					defer turns.leave(who)
					act(t, who, g)
				})
			}
			both.Wait()
			after(t)
		})
		if t.Failed() {
			t.Fatalf("with the verbs in the order %s", order)
		}
	}
}
