package semel_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
)

// notifying is a store that announces settlements, as one with LISTEN or a
// subscription does.
type notifying struct {
	*hooked

	await func(ctx context.Context) error // in the place of telling, when set

	mu      sync.Mutex // guards the fields below
	settled map[semel.Digest]chan struct{}
	awaits  int // calls of Await
	waits   int // those that run
}

func newNotifying() *notifying {
	return &notifying{hooked: newHooked(), settled: map[semel.Digest]chan struct{}{}}
}

func (n *notifying) signal(d semel.Digest) chan struct{} {
	if n.settled[d] == nil {
		n.settled[d] = make(chan struct{})
	}
	return n.settled[d]
}

func (n *notifying) Await(ctx context.Context, d semel.Digest) error {
	n.mu.Lock()
	settled := n.signal(d)
	n.awaits++
	n.waits++
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.waits--
	}()
	if n.await != nil {
		return n.await(ctx)
	}
	rec, err := n.Store.Lookup(ctx, d)
	if errors.Is(err, semel.ErrNotFound) || err == nil && (rec.State != semel.StateClaimed || rec.Lapsed()) {
		return nil
	}
	select {
	case <-settled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (n *notifying) Settle(ctx context.Context, d semel.Digest, f semel.Fence, s semel.Settlement) error {
	err := n.hooked.Settle(ctx, d, f, s)
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.signal(d))
	delete(n.settled, d)
	return err
}

func (n *notifying) running() (awaits, waits int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.awaits, n.waits
}

// A twin of another process is woken when the store tells, and hardly polls.
func TestNotifierWakesWaiters(t *testing.T) {
	t.Parallel()
	for name, settle := range map[string]func(*semel.Claim) error{
		"completed": func(c *semel.Claim) error { return c.Complete([]byte("one"), nil) },
		"released":  func(c *semel.Claim) error { return c.Release("") },
		"unknown":   func(c *semel.Claim) error { return c.Unknown("") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newNotifying()
				claim := mustClaim(t, newGuard(t, store, nil), testKey("a"))
				other := newGuard(t, store, &semel.Options{Policy: semel.Policy{Wait: time.Minute}})
				const after = 1234567 * time.Microsecond // no multiple of a poll
				began := time.Now()
				var wg sync.WaitGroup
				for range 8 {
					wg.Go(func() {
						won, _, _ := other.Begin(t.Context(), testKey("a"), testFingerprint())
						if took := time.Since(began); took != after {
							t.Errorf("woken after %v, want %v", took, after)
						}
						if won != nil {
							if err := won.Complete([]byte("one"), nil); err != nil {
								t.Error(err)
							}
						}
					})
				}
				synctest.Wait()
				if _, waits := store.running(); waits != 1 {
					t.Errorf("%d calls of Await for one key, want 1", waits)
				}
				before := store.count("lookup")
				time.Sleep(after)
				// Each of the eight looks at 0.5 s and at 1 s, before and after.
				if polls := store.count("lookup") - before; polls > 8*6 {
					t.Errorf("%d lookups while the store tells, want at most %d", polls, 8*6)
				}
				if err := settle(claim); err != nil {
					t.Error(err)
				}
				wg.Wait()
				synctest.Wait()
				if _, waits := store.running(); waits != 0 {
					t.Errorf("%d calls of Await are left", waits)
				}
			})
		})
	}
}

// A store that cannot tell is polled as one that never could.
func TestNotifierThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newNotifying()
		store.await = func(context.Context) error { return errBroken }
		claim := mustClaim(t, newGuard(t, store, nil), testKey("a"))
		other := newGuard(t, store, nil)
		var wg sync.WaitGroup
		var took time.Duration
		began := time.Now()
		wg.Go(func() {
			mustReplay(t, other, testKey("a"), "one")
			took = time.Since(began)
		})
		time.Sleep(time.Second)
		if err := claim.Complete([]byte("one"), nil); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if took > time.Second+500*time.Millisecond {
			t.Errorf("woken after %v, want a poll later than 1s at most", took)
		}
	})
}

// Polling ends once the patience of the waiters, their context or the guard has
// ended.
func TestNotifierIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(cancel context.CancelFunc, g *semel.Guard){
		"patience": func(context.CancelFunc, *semel.Guard) { time.Sleep(time.Minute) },
		"context":  func(cancel context.CancelFunc, _ *semel.Guard) { cancel() },
		"guard":    func(_ context.CancelFunc, g *semel.Guard) { _ = g.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newNotifying()
				claim := mustClaim(t, newGuard(t, store, nil), testKey("a"))
				other := newGuard(t, store, &semel.Options{Policy: semel.Policy{Wait: time.Minute}})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var wg sync.WaitGroup
				for range 3 {
					wg.Go(func() {
						if _, rec, err := other.Begin(ctx, testKey("a"), testFingerprint()); rec != nil || err == nil {
							t.Errorf("got %v, %v; want an error", rec, err)
						}
					})
				}
				synctest.Wait()
				end(cancel, other)
				wg.Wait()
				synctest.Wait()
				if awaits, waits := store.running(); waits != 0 || awaits == 0 {
					t.Errorf("%d of %d calls of Await are left, want none of some", waits, awaits)
				}
				if err := claim.Release(""); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
