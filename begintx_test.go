package semel_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/store/memstore"
)

// faults fails the points of a transaction as a test says.
type faults struct {
	mu    sync.Mutex // guards hooks
	hooks map[memdb.Point]func() error
}

func (f *faults) set(p memdb.Point, hook func() error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hooks == nil {
		f.hooks = map[memdb.Point]func() error{}
	}
	f.hooks[p] = hook
}

func (f *faults) ask(p memdb.Point) error {
	f.mu.Lock()
	hook := f.hooks[p]
	f.mu.Unlock()
	if hook == nil {
		return nil
	}
	return hook()
}

// openTx is a database, with faults, and a guard over it.
func openTx(t *testing.T, o memdb.Options, opts *semel.Options) (*memdb.DB, *faults, *semel.Guard) {
	t.Helper()
	f := &faults{}
	o.Fault = f.ask
	db := memdb.New(memstore.New(nil), &o)
	return db, f, newTxGuard(t, db, opts)
}

// newTxGuard is a guard that must leave nothing behind in the database.
func newTxGuard(t *testing.T, db *memdb.DB, opts *semel.Options) *semel.Guard {
	t.Helper()
	g := newGuard(t, db, opts)
	t.Cleanup(func() {
		if n := g.LiveClaims(); n != 0 || !db.Idle() {
			t.Errorf("%d claims are held, idle database: %v; want nothing left", n, db.Idle())
		}
	})
	return g
}

func mustBeginTx(t *testing.T, g *semel.Guard, db *memdb.DB, name string) *semel.TxClaim {
	t.Helper()
	claim, rec, err := g.BeginTx(t.Context(), db, testKey(name), testFingerprint())
	if err != nil || claim == nil {
		t.Fatalf("begin: got claim %v, record %v, error %v; want a claim", claim, rec, err)
	}
	mustSucceed(t, db.Insert(claim.Context(), name))
	return claim
}

func mustRefuseTx(t *testing.T, g *semel.Guard, tr semel.Transactor, name string, want error) *semel.Error {
	t.Helper()
	claim, rec, err := g.BeginTx(t.Context(), tr, testKey(name), testFingerprint())
	if claim != nil || rec != nil || !errors.Is(err, want) {
		t.Fatalf("begin: got claim %v, record %v, error %v; want %v", claim, rec, err, want)
	}
	return refusal(t, err, want)
}

// Promise 8: a twin waits within the policy's bound, one of this process
// without a connection, and is then told that it is in flight.
func TestBeginTxWaitsWithinItsBound(t *testing.T) {
	t.Parallel()
	for name, elsewhere := range map[string]bool{"this process": false, "another process": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var waited time.Duration
				opts := &semel.Options{Policy: semel.Policy{Wait: 3 * time.Second}, Trace: &semel.Trace{
					Began: func(_ context.Context, i semel.BeginInfo) { waited = i.Waited },
				}}
				db, _, g := openTx(t, memdb.Options{Connections: 1}, opts)
				claim := mustBeginTx(t, g, db, "a")
				twin, pool := g, semel.Transactor(db)
				if elsewhere {
					twin, pool = newTxGuard(t, db, opts), db.Pool()
				}
				began := time.Now()
				e := mustRefuseTx(t, twin, pool, "a", semel.ErrInFlight)
				if took := time.Since(began); took != 3*time.Second || waited != took || e.RetryAfter == 0 {
					t.Errorf("took %v, waited %v, retry after %v; want 3s, 3s, some", took, waited, e.RetryAfter)
				}
				mustSucceed(t, claim.Complete([]byte("one"), nil))
				if _, rec, err := twin.BeginTx(t.Context(), pool, testKey("a"), testFingerprint()); err != nil || string(rec.Outcome) != "one" {
					t.Errorf("got %v, %v; want the first outcome", rec, err)
				}
			})
		})
	}
}

// Promise 8: those who wait are bounded, and so are transactions in all.
func TestBeginTxBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, _, g := openTx(t, memdb.Options{}, &semel.Options{WaitersPerKey: 2, LiveClaims: 2})
		claim := mustBeginTx(t, g, db, "a")
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if _, rec, err := g.BeginTx(t.Context(), db, testKey("a"), testFingerprint()); err != nil || string(rec.Outcome) != "one" {
					t.Errorf("got %v, %v; want the first outcome", rec, err)
				}
			})
		}
		synctest.Wait()
		if n := g.Waiting(); n != 2 {
			t.Errorf("%d wait, want 2", n)
		}
		began := time.Now()
		mustRefuseTx(t, g, db, "a", semel.ErrInFlight)
		other := mustBeginTx(t, g, db, "b")
		mustRefuseTx(t, g, db, "c", semel.ErrUnavailable)
		if took := time.Since(began); took != 0 {
			t.Errorf("what is over a bound was refused after %v, want at once", took)
		}
		if err := errors.Join(other.Rollback(""), claim.Complete([]byte("one"), nil)); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
}

// Promise 10: without the database nothing executes, and the key is free again for the next attempt.
func TestBeginTxWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	for _, point := range []memdb.Point{memdb.Begin, memdb.Claim} {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, f, g := openTx(t, memdb.Options{}, nil)
				f.set(point, func() error { return errBroken })
				for range 2 {
					if e := mustRefuseTx(t, g, db, "a", semel.ErrUnavailable); !errors.Is(e, errBroken) || !e.Retryable() {
						t.Errorf("got %v, retryable %v; want the reason, and a retry", e, e.Retryable())
					}
				}
				f.set(point, nil)
				began := time.Now()
				if err := mustBeginTx(t, g, db, "a").Complete([]byte("one"), nil); err != nil || time.Since(began) != 0 {
					t.Errorf("got %v after %v, want nil at once", err, time.Since(began))
				}
			})
		})
	}
}

// A transactor that panics does not block the key.
func TestBeginTxPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, f, g := openTx(t, memdb.Options{}, nil)
		f.set(memdb.Begin, func() error { panic(errBroken) })
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_, _, err := g.BeginTx(t.Context(), db, testKey("a"), testFingerprint())
			t.Errorf("got %v, want a panic", err)
		}()
		f.set(memdb.Begin, nil)
		began := time.Now()
		if err := mustBeginTx(t, g, db, "a").Complete([]byte("one"), nil); err != nil || time.Since(began) != 0 {
			t.Errorf("got %v after %v, want nil at once", err, time.Since(began))
		}
	})
}

// No connection is left, and the caller goes away while it waits for one.
func TestBeginTxWithoutAConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, _, g := openTx(t, memdb.Options{Connections: 1}, nil)
		claim := mustBeginTx(t, g, db, "a")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err := g.BeginTx(ctx, db, testKey("b"), testFingerprint())
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, semel.ErrUnavailable) {
			t.Errorf("got %v, want the end of the caller's context", err)
		}
		if err := claim.Complete([]byte("one"), nil); err != nil {
			t.Error(err)
		}
		if err := mustBeginTx(t, g, db, "b").Complete([]byte("two"), nil); err != nil {
			t.Error(err)
		}
	})
}

// Shutdown refuses new transactions at once, lets the running one end, and waits for it.
func TestShutdownWaitsForTransactions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, _, g := openTx(t, memdb.Options{}, nil)
		elsewhere := newTxGuard(t, db, nil)
		claim := mustBeginTx(t, g, db, "a")
		other := mustBeginTx(t, elsewhere, db, "b")
		var wg sync.WaitGroup
		wg.Go(func() { mustRefuseTx(t, g, db, "a", semel.ErrClosed) }) // waits in memory
		wg.Go(func() { mustRefuseTx(t, g, db, "b", semel.ErrClosed) }) // waits in the database
		synctest.Wait()
		began := time.Now()
		wg.Go(func() {
			if err := g.Shutdown(t.Context()); err != nil {
				t.Errorf("shut down: %v", err)
			}
			if took := time.Since(began); took != 2*time.Second {
				t.Errorf("shut down after %v, want 2s", took)
			}
		})
		synctest.Wait()
		if n := g.Waiting(); n != 0 {
			t.Errorf("%d still wait after the shutdown began", n)
		}
		mustRefuseTx(t, g, db, "c", semel.ErrClosed)
		time.Sleep(time.Second)
		if err := other.Rollback("so that the one that waits wins"); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if err := claim.Complete([]byte("one"), nil); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if a, b := db.Count("a"), db.Count("b"); a != 1 || b != 0 {
			t.Errorf("%d and %d rows, want 1 and 0", a, b)
		}
	})
}

// Work that still runs when Shutdown gives up, or that outlives Policy.MaxRun, is rolled back (promise 4).
func TestTransactionThatRunsTooLong(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*semel.Guard, *semel.TxClaim){
		"close":   func(g *semel.Guard, _ *semel.TxClaim) { _ = g.Close() },
		"max run": func(_ *semel.Guard, c *semel.TxClaim) { <-c.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, _, g := openTx(t, memdb.Options{}, &semel.Options{Policy: semel.Policy{MaxRun: time.Minute}})
				claim := mustBeginTx(t, g, db, "a")
				stop(g, claim)
				synctest.Wait()
				if claim.Context().Err() == nil {
					t.Error("the work was not told to stop")
				}
				err := claim.Complete([]byte("one"), nil)
				if !errors.Is(err, semel.ErrRolledBack) || db.Count("a") != 0 {
					t.Errorf("got %v and %d rows, want ErrRolledBack and none", err, db.Count("a"))
				}
			})
		})
	}
}

// Promise 2: others claim and release without a transaction, again and again;
// what the last of them completed is replayed.
func TestBeginTxAmongOthersThatRelease(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		releases int
		want     error
	}{
		"four times": {releases: 4},
		"for ever":   {releases: 100, want: semel.ErrInFlight},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, f, g := openTx(t, memdb.Options{}, nil)
				other := newTxGuard(t, db, nil)
				n := 0
				f.set(memdb.Claim, func() error {
					claim := mustClaim(t, other, testKey("a"))
					if n++; n > tt.releases {
						return claim.Complete([]byte("one"), nil)
					}
					time.AfterFunc(time.Millisecond, func() {
						if err := claim.Release(""); err != nil {
							t.Error(err)
						}
					})
					return nil
				})
				claim, rec, err := g.BeginTx(t.Context(), db, testKey("a"), testFingerprint())
				if claim != nil || !errors.Is(err, tt.want) || tt.want == nil && string(rec.Outcome) != "one" {
					t.Errorf("got %v, %v, %v; want the outcome or %v", claim, rec, err, tt.want)
				}
			})
		})
	}
}

// Promise 4: a claim that the rollback of the transaction around it would not undo is refused, and so is one that is
// further inside.
func TestBeginInATransactionOfItsStoreIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, _, g := openTx(t, memdb.Options{}, nil)
		outer := mustBeginTx(t, g, db, "a")
		inner, _, err := newGuard(t, memstore.New(nil), nil).Begin(outer.Context(), testKey("b"), testFingerprint())
		mustSucceed(t, err)
		otherDB, _, other := openTx(t, memdb.Options{}, nil)
		second, _, err := other.BeginTx(inner.Context(), otherDB, testKey("d"), testFingerprint())
		mustSucceed(t, err)
		for name, ctx := range map[string]context.Context{
			"in the transaction": outer.Context(), "further inside": inner.Context(), "in a transaction of another database": second.Context(),
		} {
			for _, key := range []string{"a", "c"} {
				claim, rec, err := newTxGuard(t, db, nil).Begin(ctx, testKey(key), testFingerprint())
				refused, ok := errors.AsType[*semel.Error](err)
				if claim != nil || rec != nil || !ok || refused.Retryable() || !strings.Contains(err.Error(), "DoTx with this context commits with it") {
					t.Errorf("%s: got %v, %v, %v; want a refusal that says what to do", name, claim, rec, err)
				}
			}
		}
		if err := errors.Join(second.Rollback(""), inner.Release(""), outer.Rollback("")); err != nil {
			t.Error(err)
		}
	})
}

// The key of the work around a call is refused at once, where it would wait for itself; once that has ended it is claimed.
func TestNestedUseOfAKeyIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, _, g := openTx(t, memdb.Options{}, nil)
		outer := mustClaim(t, g, testKey("a"))
		began := time.Now()
		_, _, err := g.Begin(outer.Context(), testKey("a"), testFingerprint())
		_, _, errTx := g.BeginTx(outer.Context(), db, testKey("a"), testFingerprint())
		for _, err := range []error{err, errTx} {
			if !errors.Is(err, semel.ErrInFlight) || !strings.Contains(err.Error(), "nested use of one key") || time.Since(began) > 0 {
				t.Errorf("got %v after %v, want ErrInFlight at once", err, time.Since(began))
			}
		}
		mustSucceed(t, outer.Release(""))
		claim, _, err := g.Begin(context.WithoutCancel(outer.Context()), testKey("a"), testFingerprint())
		mustSucceed(t, err)
		mustSucceed(t, claim.Release(""))
	})
}

// Nested use of one key would wait for itself, in a transaction or without.
func TestNestedInATransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, _, g := openTx(t, memdb.Options{}, nil)
		outer := mustBeginTx(t, g, db, "a")
		elsewhere := newGuard(t, memstore.New(nil), nil)
		inner, _, err := elsewhere.Begin(outer.Context(), testKey("b"), testFingerprint())
		mustSucceed(t, err)
		if got := semel.FenceFrom(inner.Context()); got != inner.Fence() {
			t.Errorf("got fence %d, want that of the innermost claim, %d", got, inner.Fence())
		}
		innermost, _, err := g.BeginTx(inner.Context(), db, testKey("c"), testFingerprint())
		mustSucceed(t, err)
		if got := semel.FenceFrom(innermost.Context()); got != innermost.Fence() {
			t.Errorf("got fence %d, want that of the innermost claim, %d", got, innermost.Fence())
		}
		if _, _, err := g.BeginTx(innermost.Context(), db, testKey("a"), testFingerprint()); !errors.Is(err, semel.ErrInFlight) {
			t.Errorf("got %v, want ErrInFlight for the key of the outermost", err)
		}
		if err := errors.Join(innermost.Rollback(""), inner.Release(""), outer.Rollback("")); err != nil {
			t.Error(err)
		}
	})
}

func TestTraceTellsOfTransactions(t *testing.T) {
	t.Parallel()
	var got []string
	trace := &semel.Trace{
		Began: func(_ context.Context, i semel.BeginInfo) { got = append(got, "began "+string(i.Outcome)) },
		Settled: func(_ context.Context, i semel.SettleInfo) {
			got = append(got, "settled "+i.State.String())
			if i.Err != nil {
				got = append(got, "failed")
			}
			if i.Fence == 0 || i.Scope == "" {
				t.Errorf("the hook got no fence or scope: %+v", i)
			}
		},
	}
	db, f, g := openTx(t, memdb.Options{}, &semel.Options{Policy: semel.Policy{Wait: semel.NoWait}, Trace: trace})
	claim := mustBeginTx(t, g, db, "a")
	mustRefuseTx(t, g, db, "a", semel.ErrInFlight)
	mustSucceed(t, claim.Complete([]byte("one"), nil))
	if _, rec, err := g.BeginTx(t.Context(), db, testKey("a"), testFingerprint()); err != nil || rec == nil {
		t.Fatal(rec, err)
	}
	mustSucceed(t, mustBeginTx(t, g, db, "b").Rollback("no"))
	mustSucceed(t, mustBeginTx(t, g, db, "b").Unknown("no"))
	claim = mustBeginTx(t, g, db, "c")
	f.set(memdb.Begin, func() error { return errBroken })
	if err := claim.Final([]byte("no"), nil); err == nil {
		t.Fatal("it could be recorded")
	}
	mustRefuseTx(t, g, db, "d", semel.ErrUnavailable)
	want := []string{
		"began claimed", "began in-flight", "settled completed", "began replayed",
		"began claimed", "settled released", "began claimed", "settled unknown",
		"began claimed", "settled completed", "failed", "began unavailable",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
