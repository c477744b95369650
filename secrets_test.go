package semel_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/memstore"
)

func oldSecret() []byte { return []byte("the old secret, of enough bytes") }
func newSecret() []byte { return []byte("the new secret, of enough bytes") }

// Two neighbouring steps of a rotation: processes that name new records by the
// one secret or the other, and know both.
func oldFirst() [][]byte { return [][]byte{oldSecret(), newSecret()} }
func newFirst() [][]byte { return [][]byte{newSecret(), oldSecret()} }

func secretOptions(p semel.Policy, secrets ...[]byte) *semel.Options {
	return &semel.Options{Policy: p, Secrets: secrets, SweepEvery: -1}
}

// Promise 1: while a secret is replaced, an intent that arrives at two processes
// executes in one of them, in whatever order they reach the store, and both
// give the same answer.
func TestSecretsInEveryOrder(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before func(t *testing.T, store semel.Store)
		policy semel.Policy
	}{
		"nothing known":              {before: func(*testing.T, semel.Store) {}},
		"unknown under the old one":  {before: leaveUnknown(oldSecret()), policy: semel.Policy{OnUnknown: semel.Rerun}},
		"unknown under the new one":  {before: leaveUnknown(newSecret()), policy: semel.Policy{OnUnknown: semel.Rerun}},
		"unknown under both of them": {before: leaveUnknown(oldSecret(), newSecret()), policy: semel.Policy{OnUnknown: semel.Rerun}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.policy.Wait = time.Minute
			var runs atomic.Int64
			inEveryOrder(t, tt.policy, tt.before, func(t *testing.T, who string, g *semel.Guard) {
				t.Helper()
				got, err := semel.Do(t.Context(), g, testKey("k"), testFingerprint(), func(context.Context) (int64, error) {
					time.Sleep(time.Second)
					return runs.Add(1), nil
				})
				if err != nil || got != 1 {
					t.Errorf("%s: got %d, error %v; want the answer of the one execution", who, got, err)
				}
			}, func(t *testing.T) {
				t.Helper()
				if n := runs.Swap(0); n != 1 {
					t.Errorf("executed %d times", n)
				}
			})
		})
	}
}

// leaveUnknown leaves a record of the intent whose outcome is unknown under each of the secrets.
func leaveUnknown(secrets ...[]byte) func(*testing.T, semel.Store) {
	return func(t *testing.T, store semel.Store) {
		t.Helper()
		for _, secret := range secrets {
			g, err := semel.New(store, secretOptions(semel.Policy{}, secret))
			mustSucceed(t, err)
			mustSucceed(t, mustClaim(t, g, testKey("k")).Unknown("reset"))
			mustSucceed(t, g.Close())
		}
	}
}

// An intent that is cancelled while it arrives is either cancelled or executed.
func TestCancelWhileSecretsAreReplaced(t *testing.T) {
	t.Parallel()
	var runs, cancelled atomic.Int64
	var outcomes [2]int
	inEveryOrder(t, semel.Policy{Wait: time.Minute}, func(*testing.T, semel.Store) {}, func(t *testing.T, who string, g *semel.Guard) {
		t.Helper()
		if who == "b" {
			rec, err := operate(g).Cancel(t.Context(), alice, testKey("k"), 0, "void")
			if err == nil && rec.State == semel.StateCancelled {
				cancelled.Add(1)
			} else if !errors.Is(err, semel.ErrInFlight) && !errors.Is(err, semel.ErrSettled) {
				t.Errorf("cancel: got %+v, %v", rec, err)
			}
			return
		}
		_, err := semel.Do(t.Context(), g, testKey("k"), testFingerprint(), func(context.Context) (int64, error) { return runs.Add(1), nil })
		refused := errors.Is(err, semel.ErrCancelled) || errors.Is(err, semel.ErrInFlight) || errors.Is(err, semel.ErrMismatch) // an operator's claim has no fingerprint
		if err != nil && !refused {
			t.Errorf("begin: %v", err)
		}
	}, func(t *testing.T) {
		t.Helper()
		ran, stopped := runs.Swap(0), cancelled.Swap(0)
		if ran > 0 && stopped > 0 {
			t.Error("executed although it was cancelled")
		}
		outcomes[0] += int(ran)
		outcomes[1] += int(stopped)
	})
	if outcomes[0] == 0 || outcomes[1] == 0 {
		t.Errorf("executed in %d orders and cancelled in %d, want some of each", outcomes[0], outcomes[1])
	}
}

// Promise 1, with many at once: every key executes once, and every caller gets that answer.
func TestSecretsRace(t *testing.T) {
	t.Parallel()
	store := memstore.New(nil)
	policy := semel.Policy{Wait: time.Minute}
	guards := []*semel.Guard{
		newGuard(t, store, secretOptions(policy, oldFirst()...)), newGuard(t, store, secretOptions(policy, newFirst()...)),
	}
	const keys, attempts = 200, 8
	var runs [keys]atomic.Int64
	var wg sync.WaitGroup
	for i := range keys * attempts {
		wg.Go(func() {
			n := i / attempts
			got, err := semel.Do(t.Context(), guards[i%2], testKey(fmt.Sprint(n)), testFingerprint(), func(context.Context) (int64, error) {
				return runs[n].Add(1), nil
			})
			if err != nil || got != 1 {
				t.Errorf("key %d: got %d, %v", n, got, err)
			}
		})
	}
	wg.Wait()
}

// Every step of a rotation finds what the one before it recorded, and what the one after it records.
func TestSecretRotation(t *testing.T) {
	t.Parallel()
	steps := [][][]byte{{oldSecret()}, oldFirst(), newFirst(), {newSecret()}}
	fromNone := [][][]byte{nil, {nil, newSecret()}, {newSecret(), nil}, {newSecret()}}
	for name, steps := range map[string][][][]byte{"replaced": steps, "introduced": fromNone} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := memstore.New(nil)
			var guards []*semel.Guard
			for _, secrets := range steps {
				guards = append(guards, newGuard(t, store, secretOptions(semel.Policy{Wait: semel.NoWait}, secrets...)))
			}
			for i, g := range guards {
				k := testKey(fmt.Sprint("step ", i))
				claim := mustClaim(t, g, k)
				if claim.Digest() != g.Digest(k) {
					t.Errorf("step %d: the record is %v, want %v", i, claim.Digest(), g.Digest(k))
				}
				for j := max(0, i-1); j <= min(i+1, len(guards)-1); j++ {
					e := mustRefuse(t, guards[j], k, semel.ErrInFlight)
					if e.Digest != claim.Digest() || e.Record == nil {
						t.Errorf("step %d meets %v, want the record of step %d", j, e.Digest, i)
					}
				}
				mustSucceed(t, claim.Complete([]byte("one"), nil))
				for j := max(0, i-1); j <= min(i+1, len(guards)-1); j++ {
					mustReplay(t, guards[j], k, "one")
					if rec, err := guards[j].Lookup(t.Context(), k); err != nil || rec.Fence != claim.Fence() {
						t.Errorf("step %d looks up %+v, %v; want the record of step %d", j, rec, err, i)
					}
					if _, err := operate(guards[j]).Cancel(t.Context(), alice, k, 0, "void"); !errors.Is(err, semel.ErrSettled) {
						t.Errorf("step %d cancels what step %d completed: %v", j, i, err)
					}
				}
			}
		})
	}
}

// A claim that cannot look again does not execute, and blocks no other.
func TestSecondLookThatFails(t *testing.T) {
	t.Parallel()
	store := newHooked()
	options := secretOptions(semel.Policy{Wait: semel.NoWait}, newFirst()...)
	options.LiveClaimsPerScope, options.RecordsPerScope = 1, 1 // what it took, it gives back
	g := newGuard(t, store, options)
	store.set(store.before, "lookup", sequence(nil, errBroken))
	e := mustRefuse(t, g, testKey("a"), semel.ErrUnavailable)
	if !e.Retryable() || store.count("claim") != 1 {
		t.Errorf("got %v after %d claims, want a retryable refusal after one", e, store.count("claim"))
	}
	store.set(store.before, "lookup", nil)
	mustSucceed(t, mustClaim(t, g, testKey("a")).Complete(nil, nil))
}

// sequence returns a hook with one answer after another, and nil after the last.
func sequence(errs ...error) func() error {
	return func() error {
		if len(errs) == 0 {
			return nil
		}
		err := errs[0]
		errs = errs[1:]
		return err
	}
}

// A claim that was given back, but whose reply was lost, does not lapse into
// unknown, and undoing it does not end the next claim.
func TestYieldWhoseReplyIsLost(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]func(*hooked) map[string]func() error{
		"before": func(h *hooked) map[string]func() error { return h.before },
		"after":  func(h *hooked) map[string]func() error { return h.after },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newHooked()
				g := newGuard(t, store, secretOptions(semel.Policy{Wait: time.Minute}, newFirst()...))
				old := newGuard(t, store.Store, secretOptions(semel.Policy{}, oldSecret()))
				twins := make(chan *semel.Claim, 1)
				store.set(store.before, "claim", func() error {
					store.set(store.before, "claim", nil)
					twins <- mustClaim(t, old, testKey("a")) // between the first look and the claim
					return nil
				})
				store.set(when(store), "settle", times(2, errBroken))
				go func() {
					twin := <-twins
					time.Sleep(3 * time.Second)
					if err := twin.Release("changed its mind"); err != nil {
						t.Error(err)
					}
				}()
				claim := mustClaim(t, g, testKey("a"))
				time.Sleep(2 * semel.DefaultLease)
				if err := claim.Context().Err(); err != nil {
					t.Errorf("the claim ended: %v", err)
				}
				mustSucceed(t, claim.Complete([]byte("one"), nil))
				mustReplay(t, g, testKey("a"), "one")
			})
		})
	}
}

// Nested use of one intent is refused under either secret.
func TestHoldsUnderEitherSecret(t *testing.T) {
	t.Parallel()
	store := memstore.New(nil)
	first := newGuard(t, store, secretOptions(semel.Policy{}, oldFirst()...))
	second := newGuard(t, store, secretOptions(semel.Policy{}, newFirst()...))
	claim := mustClaim(t, first, testKey("a"))
	ctx := claim.Context()
	for _, g := range []*semel.Guard{first, second} {
		if !g.Holds(ctx, testKey("a")) || g.Holds(ctx, testKey("b")) || g.Holds(t.Context(), testKey("a")) {
			t.Errorf("holds: a %v, b %v, outside %v; want only a, inside", g.Holds(ctx, testKey("a")), g.Holds(ctx, testKey("b")), g.Holds(t.Context(), testKey("a")))
		}
	}
	mustSucceed(t, claim.Complete(nil, nil))
	db, _, single := openTx(t, memdb.Options{}, nil)
	tx := mustBeginTx(t, single, db, "a")
	if !single.Holds(tx.Context(), testKey("a")) || single.Holds(tx.Context(), testKey("b")) {
		t.Error("the transaction's intent is not known")
	}
	mustSucceed(t, tx.Complete(nil, nil))
}

// The claim of an open transaction is invisible, so more than one secret is refused.
func TestTransactionsWantOneSecret(t *testing.T) {
	t.Parallel()
	db, _, g := openTx(t, memdb.Options{}, secretOptions(semel.Policy{}, newFirst()...))
	claim, rec, err := g.BeginTx(t.Context(), db, testKey("a"), testFingerprint())
	if claim != nil || rec != nil || !errors.Is(err, g.CheckTx()) || g.CheckTx() == nil {
		t.Errorf("got claim %v, record %v, error %v; want a refusal", claim, rec, err)
	}
	single := newTxGuard(t, db, secretOptions(semel.Policy{}, newSecret()))
	if err := single.CheckTx(); err != nil {
		t.Errorf("one secret is refused: %v", err)
	}
}

// Promise 1: what is unknown under one secret is not taken over while the
// intent is executed under the other, although both were unknown a moment ago.
func TestTakeOverLooksAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ taken, running []byte }{
		"running under the new one": {oldSecret(), newSecret()},
		"running under the old one": {newSecret(), oldSecret()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newHooked()
				policy := semel.Policy{OnUnknown: semel.Rerun, Wait: time.Minute}
				leaveUnknown(tt.taken)(t, store.Store)
				leaveUnknown(tt.running)(t, store.Store)
				// Once the other record is gone from its first look, it runs elsewhere.
				g := newGuard(t, store, secretOptions(policy, newFirst()...))
				elsewhere := newGuard(t, store.Store, secretOptions(policy, tt.running))
				hidden, err := store.Store.Lookup(t.Context(), elsewhere.Digest(testKey("k")))
				mustSucceed(t, err)
				mustSucceed(t, store.Store.Settle(t.Context(), hidden.Digest, hidden.Fence, semel.Settlement{State: semel.StateReleased}))
				running := make(chan *semel.Claim, 1)
				store.set(store.before, "claim", func() error {
					store.set(store.before, "claim", nil)
					running <- mustClaim(t, elsewhere, testKey("k"))
					return nil
				})
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					claim := <-running
					time.Sleep(10 * time.Second)
					if err := claim.Complete([]byte("one"), nil); err != nil {
						t.Error(err)
					}
				}()
				mustReplay(t, g, testKey("k"), "one")
				<-ended
				left, err := store.Store.Lookup(t.Context(), newGuard(t, store.Store, secretOptions(policy, tt.taken)).Digest(testKey("k")))
				if err != nil || left.State != semel.StateUnknown {
					t.Errorf("got %+v, %v; want what was unknown to stay so", left, err)
				}
			})
		})
	}
}

// Where one intent has records under both secrets, because a process died
// between its claim and its second look, the one that says most counts.
func TestRecordsUnderBothSecrets(t *testing.T) {
	t.Parallel()
	states := map[string]func(*testing.T, *semel.Guard){
		"completed": func(t *testing.T, g *semel.Guard) {
			t.Helper()
			mustSucceed(t, mustClaim(t, g, testKey("k")).Complete([]byte("one"), nil))
		},
		"cancelled": func(t *testing.T, g *semel.Guard) {
			t.Helper()
			_, err := operate(g).Cancel(t.Context(), alice, testKey("k"), 0, "void")
			mustSucceed(t, err)
		},
		"running": func(t *testing.T, g *semel.Guard) {
			t.Helper()
			mustClaim(t, g, testKey("k"))
		},
		"unknown": func(t *testing.T, g *semel.Guard) {
			t.Helper()
			mustSucceed(t, mustClaim(t, g, testKey("k")).Unknown("reset"))
		},
	}
	wants := map[string]error{"completed": nil, "cancelled": semel.ErrCancelled, "running": semel.ErrInFlight, "unknown": semel.ErrUnknown}
	byWeight := []string{"completed", "cancelled", "running", "unknown"}
	for i, more := range byWeight {
		for _, less := range byWeight[i:] {
			for _, secrets := range [][][]byte{newFirst(), oldFirst()} {
				store := memstore.New(nil)
				states[more](t, newGuard(t, store, secretOptions(semel.Policy{}, secrets[0])))
				states[less](t, newGuard(t, store, secretOptions(semel.Policy{}, secrets[1])))
				for _, g := range []*semel.Guard{
					newGuard(t, store, secretOptions(semel.Policy{Wait: semel.NoWait}, newFirst()...)),
					newGuard(t, store, secretOptions(semel.Policy{Wait: semel.NoWait}, oldFirst()...)),
				} {
					if want := wants[more]; want != nil {
						mustRefuse(t, g, testKey("k"), want)
					} else {
						mustReplay(t, g, testKey("k"), "one")
					}
				}
			}
		}
	}
}

// While a secret is replaced, processes that died between claim and second look
// can leave two records of one intent: one of them is reconciled.
func TestUnattendedWhileSecretsAreReplaced(t *testing.T) {
	t.Parallel()
	clock := newClock()
	store := memstore.New(&memstore.Options{Now: clock.now})
	for _, secret := range [][]byte{oldSecret(), newSecret()} {
		crashed := newGuard(t, store, secretOptions(semel.Policy{}, secret))
		mustSucceed(t, mustClaim(t, crashed, testKey("a")).Unknown("it died"))
	}
	var asks atomic.Int64
	policy := asked(func(semel.Record) (semel.Reconciliation, error) {
		return semel.Reconciliation{Verdict: semel.Happened, Outcome: []byte(fmt.Sprint(asks.Add(1))), Kept: true}, nil
	})
	g := newGuard(t, store, secretOptions(policy, newFirst()...))
	for range 3 {
		clock.add(time.Hour)
		if _, err := operate(g).ReconcileUnknown(t.Context(), operator.Unattended{}); err != nil {
			t.Fatal(err)
		}
	}
	if asks.Load() != 1 {
		t.Errorf("asked %d times about one intent", asks.Load())
	}
	mustReplay(t, g, testKey("a"), "1")
}

// Unattended reconciliation gives an intent that has an answer under one secret no second one under the next.
func TestUnattendedLooksUnderEverySecret(t *testing.T) {
	t.Parallel()
	for _, secrets := range [][][]byte{newFirst(), oldFirst()} {
		clock := newClock()
		store := memstore.New(&memstore.Options{Now: clock.now})
		mustSucceed(t, mustClaim(t, newGuard(t, store, secretOptions(semel.Policy{}, secrets[0])), testKey("k")).Complete([]byte("one"), nil))
		left := newGuard(t, store, secretOptions(semel.Policy{}, secrets[1]))
		mustSucceed(t, mustClaim(t, left, testKey("k")).Unknown("reset"))
		clock.add(time.Minute)
		g := newGuard(t, store, secretOptions(asked(func(semel.Record) (semel.Reconciliation, error) {
			return semel.Reconciliation{Verdict: semel.Happened, Outcome: []byte("two"), Kept: true}, nil
		}), newFirst()...))
		if r, err := operate(g).ReconcileUnknown(t.Context(), operator.Unattended{}); err != nil || r.Happened != 0 {
			t.Errorf("got %+v, %v", r, err)
		}
		mustReplay(t, g, testKey("k"), "one")
		mustRefuse(t, left, testKey("k"), semel.ErrUnknown)
	}
}
