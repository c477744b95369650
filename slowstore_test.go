package semel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/operator"
)

// TestHangingStore (promise 10): a store that does not answer is given up within
// its time, whatever patience the caller has; nothing executes, and the claim
// that may have arrived is given back.
func TestHangingStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newHooked()
		g := newGuard(t, stalling{store}, &semel.Options{StoreTimeout: 2 * time.Second})
		hang := func() error { return errStall }
		patient, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		refused := func(who string) {
			t.Helper()
			began := time.Now()
			_, _, err := g.Begin(patient, testKey("a"), testFingerprint())
			if took := time.Since(began); !errors.Is(err, semel.ErrUnavailable) || took > 3*time.Second {
				t.Errorf("%s: got %v after %v, want ErrUnavailable within the store's time", who, err, took)
			}
		}
		for _, when := range []map[string]func() error{store.before, store.after} {
			store.set(when, "claim", hang)
			refused("a caller")
			store.set(when, "claim", nil)
			time.Sleep(time.Second) // the claim is given back
		}
		twin := mustClaim(t, g, testKey("a"))
		store.set(store.before, "lookup", hang)
		refused("who waits for a twin")
		store.set(store.before, "lookup", nil)
		mustSucceed(t, twin.Complete([]byte("17"), nil))
		mustReplay(t, g, testKey("a"), "17")
	})
}

// TestReasonOfStore: the error gives the reason of the store even when its time ends while the claim is tried again.
func TestReasonOfStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newHooked()
		g := newGuard(t, stalling{store}, &semel.Options{StoreTimeout: 2 * time.Second})
		store.set(store.before, "claim", func() error {
			if store.count("claim") > 1 {
				return errStall
			}
			return errors.New("the disk is full")
		})
		if e := mustRefuse(t, g, testKey("a"), semel.ErrUnavailable); !strings.Contains(e.Error(), "the disk is full") {
			t.Errorf("got %v, want the reason", e)
		}
	})
}

// TestFullStore: a full store is unavailable for new intents, and the caller waits longer than for one that cannot be reached.
func TestFullStore(t *testing.T) {
	t.Parallel()
	store := newHooked()
	g := newGuard(t, store, nil)
	store.set(store.before, "claim", func() error { return semel.ErrFull })
	e := mustRefuse(t, g, testKey("a"), semel.ErrUnavailable)
	if !errors.Is(e, semel.ErrFull) || e.RetryAfter <= 10*time.Second || store.count("claim") != 1 {
		t.Errorf("got %v, to be repeated after %v, after %d claims; want ErrFull, a longer pause, and one claim", e, e.RetryAfter, store.count("claim"))
	}
}

// TestHangingStoreAndOperators: a question and a verdict are given up within
// the store's time as well.
func TestHangingStoreAndOperators(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newHooked()
		g := newGuard(t, stalling{store}, &semel.Options{StoreTimeout: 2 * time.Second})
		store.set(store.before, "lookup", func() error { return errStall })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for name, ask := range map[string]func() error{
			"look up": func() error { _, err := g.Lookup(ctx, testKey("a")); return err },
			"cancel": func() error {
				_, err := operate(g).Cancel(ctx, operator.Identity{Name: "alice"}, testKey("a"), 0, "void")
				return err
			},
		} {
			began := time.Now()
			if err := ask(); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: got %v", name, err)
			}
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("%s took %v", name, took)
			}
		}
	})
}

// TestStoreQueue (promise 8): no more than so many wait for a slow store; the
// next one is refused at once with a time to retry, and those before it are
// served.
func TestStoreQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const queue = 10
		store := newHooked()
		g := newGuard(t, store, &semel.Options{StoreQueue: queue})
		goOn := make(chan struct{})
		answer := sync.OnceFunc(func() { close(goOn) })
		defer answer() // releases all waiters, whatever the test finds
		store.set(store.before, "claim", func() error {
			if store.count("claim") <= queue {
				<-goOn
			}
			return nil
		})
		var won atomic.Int64
		var all sync.WaitGroup
		for i := range queue {
			all.Go(func() {
				if claim, _, err := g.Begin(t.Context(), testKey(fmt.Sprint(i)), testFingerprint()); err == nil && claim.Complete(nil, nil) == nil {
					won.Add(1)
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		if e := mustRefuse(t, g, testKey("one more"), semel.ErrUnavailable); !errors.Is(e, semel.ErrBusy) || e.RetryAfter <= 0 || time.Since(began) > 0 {
			t.Errorf("refused after %v, to retry after %v", time.Since(began), e.RetryAfter)
		}
		answer()
		all.Wait()
		if won.Load() != queue {
			t.Errorf("%d of %d that waited were served", won.Load(), queue)
		}
		mustClaim(t, g, testKey("one more"))
	})
}

var errStall = errors.New("stalled")

// stalling does not answer where the hooks say so, until the caller goes away.
type stalling struct{ *hooked }

func (s stalling) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	rec, won, err := s.hooked.Claim(ctx, p)
	return rec, won, stall(ctx, err)
}

func (s stalling) Lookup(ctx context.Context, d semel.Digest) (semel.Record, error) {
	rec, err := s.hooked.Lookup(ctx, d)
	return rec, stall(ctx, err)
}

func stall(ctx context.Context, err error) error {
	if errors.Is(err, errStall) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Hour): // the test fails, and does not hang
		}
	}
	return err
}

// TestVerbContext: it behaves as what context.WithDeadline makes.
func TestVerbContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		seen := make(chan context.Context, 1)
		store := newHooked()
		g := newGuard(t, peeking{store, seen}, &semel.Options{StoreTimeout: time.Second})
		parent, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "value"), time.Minute)
		defer cancel()
		claim, _, err := g.Begin(parent, testKey("a"), testFingerprint())
		mustSucceed(t, err)
		ctx := <-seen
		if ctx.Value(key{}) != "value" {
			t.Error("the values of the caller's context are lost")
		}
		if at, ok := ctx.Deadline(); !ok || time.Until(at) > time.Second {
			t.Errorf("deadline %v, %v", at, ok)
		}
		child, stop := context.WithCancel(ctx)
		defer stop()
		<-child.Done() // the call has ended
		mustSucceed(t, claim.Release(""))
	})
}

// peeking shows the context of its last Claim.
type peeking struct {
	*hooked
	seen chan context.Context
}

func (p peeking) Claim(ctx context.Context, params semel.ClaimParams) (semel.Record, bool, error) {
	if ctx.Err() == nil {
		_ = ctx.Done()
		p.seen <- ctx
	}
	return p.hooked.Claim(ctx, params)
}

// readOnlyError is the answer of a server until an operator changes its settings.
type readOnlyError struct{ error }

func (readOnlyError) Refused() {}

// TestRefusingStore (promise 10): where waiting does not help, the guard asks a second time and then refuses, without waiting for
// the end of the store's time.
func TestRefusingStore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answers []error // of the store, and then it takes the claim
		claims  int
		want    error
	}{
		"read-only":                          {[]error{readOnlyError{errStall}, readOnlyError{errStall}}, 2, semel.ErrUnavailable},
		"answers are also lost":              {[]error{readOnlyError{errStall}, errStall, errStall, readOnlyError{errStall}}, 4, semel.ErrUnavailable},
		"a connection to the former primary": {[]error{readOnlyError{errStall}}, 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newHooked()
				g := newGuard(t, store, nil)
				store.set(store.before, "claim", func() error {
					if n := store.count("claim"); n <= len(test.answers) {
						return fmt.Errorf("claim: %w", test.answers[n-1])
					}
					return nil
				})
				claim, _, err := g.Begin(t.Context(), testKey("a"), testFingerprint())
				if got := store.count("claim"); got != test.claims || !errors.Is(err, test.want) {
					t.Errorf("asked the store %d times, want %d; got %v, want %v", got, test.claims, err, test.want)
				}
				if claim != nil {
					mustSucceed(t, claim.Release("nothing happened"))
				}
			})
		})
	}
}
