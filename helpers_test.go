package semel_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/memstore"
)

var errBroken = errors.New("connection reset")

func testKey(name string) semel.Key {
	return semel.Key{Scope: "tenant-7 POST /invoices", Name: name}
}

func testFingerprint() semel.Fingerprint { return semel.FingerprintOf("amount=1250") }

// hooked is a store whose verbs can be made to fail, before or after the
// inner store has done the work.
type hooked struct {
	*memstore.Store
	mu     sync.Mutex // guards the fields below
	before map[string]func() error
	after  map[string]func() error
	calls  map[string]int
}

func newHooked() *hooked {
	return &hooked{
		Store: memstore.New(nil), calls: map[string]int{},
		before: map[string]func() error{}, after: map[string]func() error{},
	}
}

func (h *hooked) set(m map[string]func() error, verb string, f func() error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m[verb] = f
}

func (h *hooked) count(verb string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls[verb]
}

func (h *hooked) call(verb string, inner func() error) error {
	h.mu.Lock()
	h.calls[verb]++
	before, after := h.before[verb], h.after[verb]
	h.mu.Unlock()
	if before != nil {
		if err := before(); err != nil {
			return err
		}
	}
	err := inner()
	if err == nil && after != nil {
		err = after()
	}
	return err
}

func (h *hooked) Claim(ctx context.Context, p semel.ClaimParams) (rec semel.Record, won bool, err error) {
	err = h.call("claim", func() error {
		rec, won, err = h.Store.Claim(ctx, p)
		return err
	})
	if err != nil {
		return semel.Record{}, false, err
	}
	return rec, won, nil
}

func (h *hooked) Renew(ctx context.Context, d semel.Digest, f semel.Fence, lease time.Duration) error {
	return h.call("renew", func() error { return h.Store.Renew(ctx, d, f, lease) })
}

func (h *hooked) Settle(ctx context.Context, d semel.Digest, f semel.Fence, s semel.Settlement) error {
	return h.call("settle", func() error { return h.Store.Settle(ctx, d, f, s) })
}

func (h *hooked) Lookup(ctx context.Context, d semel.Digest) (rec semel.Record, err error) {
	err = h.call("lookup", func() error {
		rec, err = h.Store.Lookup(ctx, d)
		return err
	})
	return rec, err
}

// operate returns the guard's records, as operators settle them.
func operate(g *semel.Guard) *operator.Records { return must.Get(operator.New(g, nil)) }

// times returns a hook that fails with err the first n times, for concurrent use.
func times(n int, err error) func() error {
	var calls atomic.Int64
	return func() error {
		if calls.Add(1) <= int64(n) {
			return err
		}
		return nil
	}
}

func newGuard(t *testing.T, store semel.Store, opts *semel.Options) *semel.Guard {
	t.Helper()
	g, err := semel.New(store, opts)
	mustSucceed(t, err)
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Errorf("close guard: %v", err)
		}
		if err := store.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	return g
}

// mustSucceed ends the test with the error.
func mustSucceed(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustClaim(t *testing.T, g *semel.Guard, k semel.Key) *semel.Claim {
	t.Helper()
	claim, rec, err := g.Begin(t.Context(), k, testFingerprint())
	if err != nil || claim == nil {
		t.Fatalf("begin: got claim %v, record %v, error %v; want a claim", claim, rec, err)
	}
	return claim
}

func mustReplay(t *testing.T, g *semel.Guard, k semel.Key, want string) {
	t.Helper()
	claim, rec, err := g.Begin(t.Context(), k, testFingerprint())
	if err != nil || rec == nil {
		t.Fatalf("begin: got claim %v, record %v, error %v; want a replay", claim, rec, err)
	}
	if string(rec.Outcome) != want {
		t.Errorf("replay: got outcome %q, want %q", rec.Outcome, want)
	}
}

func mustRefuse(t *testing.T, g *semel.Guard, k semel.Key, want error) *semel.Error {
	t.Helper()
	claim, rec, err := g.Begin(t.Context(), k, testFingerprint())
	if claim != nil || rec != nil || !errors.Is(err, want) {
		t.Fatalf("begin: got claim %v, record %v, error %v; want %v", claim, rec, err, want)
	}
	return refusal(t, err, want)
}

// refusal returns the error of a Begin, which names its sentinel once.
func refusal(t *testing.T, err, want error) *semel.Error {
	t.Helper()
	e, ok := errors.AsType[*semel.Error](err)
	if !ok {
		t.Fatalf("begin: error %T is no *semel.Error", err)
	}
	if strings.Count(e.Error(), want.Error()) > 1 {
		t.Errorf("begin: the error repeats itself: %v", e)
	}
	return e
}

// clock is a store's, moved by hand.
type clock struct {
	start time.Time
	moved atomic.Int64
}

func newClock() *clock { return &clock{start: time.Now()} }

func (c *clock) now() time.Time { return c.start.Add(time.Duration(c.moved.Load())) }

func (c *clock) add(d time.Duration) { c.moved.Add(int64(d)) }
