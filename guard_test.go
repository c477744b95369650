package semel_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
)

// Promise 2: every later attempt gets exactly the first outcome, until the
// retention ends.
func TestBeginReplaysTheFirstOutcomeUntilRetentionEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(t, memstore.New(nil), &semel.Options{Policy: semel.Policy{Retention: time.Hour}})
		mustSucceed(t, mustClaim(t, g, testKey("a")).Complete([]byte("invoice 1"), nil))
		for range 3 {
			mustReplay(t, g, testKey("a"), "invoice 1")
		}
		time.Sleep(time.Hour - time.Millisecond)
		mustReplay(t, g, testKey("a"), "invoice 1")
		time.Sleep(time.Millisecond)
		mustSucceed(t, mustClaim(t, g, testKey("a")).Release(""))
	})
}

// Promise 6: a mismatch neither executes nor sees the stored answer, whether
// the first attempt is running, done or unknown.
func TestBeginRefusesAnotherFingerprint(t *testing.T) {
	t.Parallel()
	for name, settle := range map[string]func(*semel.Claim) error{
		"running":   func(*semel.Claim) error { return nil },
		"completed": func(c *semel.Claim) error { return c.Complete([]byte("secret"), nil) },
		"not kept":  func(c *semel.Claim) error { return c.CompleteWithout([]byte("secret")) },
		"unknown":   func(c *semel.Claim) error { return c.Unknown("secret") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuard(t, memstore.New(nil), nil)
			mustSucceed(t, settle(mustClaim(t, g, testKey("a"))))
			claim, rec, err := g.Begin(t.Context(), testKey("a"), semel.FingerprintOf("amount=9999"))
			if claim != nil || rec != nil || !errors.Is(err, semel.ErrMismatch) {
				t.Fatalf("got claim %v, record %v, error %v; want ErrMismatch", claim, rec, err)
			}
			e, ok := errors.AsType[*semel.Error](err)
			if !ok || e.Record != nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("the mismatch reveals the record: %+v", e)
			}
			if e.Retryable() {
				t.Error("a mismatch is not retryable")
			}
		})
	}
}

// Promise 5: scopes never see each other.
func TestBeginKeepsScopesApart(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), nil)
	mine := semel.Key{Scope: "alice", Name: "k"}
	claim := mustClaim(t, g, mine)
	for _, scope := range []string{"bob", "alic", "alicek", semel.ScopeGlobal} {
		other := mustClaim(t, g, semel.Key{Scope: scope, Name: "k"})
		mustSucceed(t, other.Complete([]byte(scope), nil))
	}
	mustSucceed(t, claim.Complete([]byte("alice's"), nil))
	mustReplay(t, g, mine, "alice's")
}

// Promise 1: of many racing attempts exactly one executes, and all get its
// outcome.
func TestBeginRace(t *testing.T) {
	t.Parallel()
	const callers = 48
	store := memstore.New(nil)
	guards := []*semel.Guard{newGuard(t, store, nil), newGuard(t, store, nil)} // two servers
	var executed atomic.Int32
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			got, err := semel.Do(t.Context(), guards[i%2], testKey("a"), testFingerprint(),
				func(context.Context) (int32, error) { return executed.Add(1), nil })
			if err != nil || got != 1 {
				t.Errorf("caller %d: got %d, %v; want 1", i, got, err)
			}
		})
	}
	wg.Wait()
	if n := executed.Load(); n != 1 {
		t.Errorf("executed %d times, want 1", n)
	}
}

func TestBeginWaitsForARunningTwin(t *testing.T) {
	t.Parallel()
	type result struct {
		outcome string
		fresh   bool
		err     error
	}
	tests := map[string]struct {
		settle func(*semel.Claim) error
		check  func(result) bool
	}{
		"completed": {
			func(c *semel.Claim) error { return c.Complete([]byte("one"), nil) },
			func(r result) bool { return r.outcome == "one" },
		},
		"released": {
			func(c *semel.Claim) error { return c.Release("nothing happened") },
			func(r result) bool { return r.fresh },
		},
		"unknown": {
			func(c *semel.Claim) error { return c.Unknown("upstream reset") },
			func(r result) bool { return errors.Is(r.err, semel.ErrUnknown) },
		},
		"not kept": {
			func(c *semel.Claim) error { return c.CompleteWithout(nil) },
			func(r result) bool { return errors.Is(r.err, semel.ErrNotKept) },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newHooked()
				g := newGuard(t, store, nil)
				claim := mustClaim(t, g, testKey("a"))
				got := make(chan result)
				go func() {
					second, rec, err := g.Begin(t.Context(), testKey("a"), testFingerprint())
					r := result{fresh: second != nil, err: err}
					if rec != nil {
						r.outcome = string(rec.Outcome)
					}
					if second != nil {
						r.err = second.Release("")
					}
					got <- r
				}()
				synctest.Wait()
				if n := g.Waiting(); n != 1 {
					t.Fatalf("%d attempts wait, want 1", n)
				}
				began := time.Now()
				mustSucceed(t, tt.settle(claim))
				if r := <-got; !tt.check(r) {
					t.Errorf("the waiter got %+v", r)
				}
				if took := time.Since(began); took != 0 {
					t.Errorf("the waiter was polled awake after %v, not woken", took)
				}
			})
		})
	}
}

// A twin in another process wakes no waiter here: the waiter polls.
func TestBeginWaitsForATwinElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		here, elsewhere := newGuard(t, store, nil), newGuard(t, store, nil)
		claim := mustClaim(t, elsewhere, testKey("a"))
		time.AfterFunc(time.Second, func() {
			if err := claim.Complete([]byte("one"), nil); err != nil {
				t.Error(err)
			}
		})
		mustReplay(t, here, testKey("a"), "one")
	})
}

func TestBeginPatienceEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(t, memstore.New(nil), nil)
		claim := mustClaim(t, g, testKey("a"))
		began := time.Now()
		e := mustRefuse(t, g, testKey("a"), semel.ErrInFlight)
		if took := time.Since(began); took != semel.DefaultWait {
			t.Errorf("waited %v, want %v", took, semel.DefaultWait)
		}
		if !e.Retryable() || e.RetryAfter <= 0 {
			t.Errorf("want a retryable error with a time, got %+v", e)
		}
		impatient, err := g.With(semel.Policy{Wait: semel.NoWait})
		mustSucceed(t, err)
		began = time.Now()
		mustRefuse(t, impatient, testKey("a"), semel.ErrInFlight)
		if took := time.Since(began); took != 0 {
			t.Errorf("waited %v, want 0", took)
		}
		// A waiter that gives up leaves the running owner's record alone.
		mustSucceed(t, claim.Complete([]byte("one"), nil))
		mustReplay(t, g, testKey("a"), "one")
	})
}

// Promise 8: waiters are bounded per key, per scope and in total.
func TestBeginBoundsWaiters(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]semel.Options{
		"per key":   {WaitersPerKey: 3},
		"per scope": {WaitersPerScope: 3},
		"total":     {Waiters: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newGuard(t, memstore.New(nil), &opts)
				claim := mustClaim(t, g, testKey("a"))
				var refused, waited atomic.Int32
				var wg sync.WaitGroup
				for range 10 {
					wg.Go(func() {
						began := time.Now()
						_, _, err := g.Begin(t.Context(), testKey("a"), testFingerprint())
						if errors.Is(err, semel.ErrInFlight) && time.Since(began) == 0 {
							refused.Add(1)
						} else if err == nil {
							waited.Add(1)
						}
					})
				}
				synctest.Wait()
				if g.Waiting() != 3 || refused.Load() != 7 {
					t.Errorf("%d wait and %d were refused, want 3 and 7", g.Waiting(), refused.Load())
				}
				mustSucceed(t, claim.Complete(nil, nil))
				wg.Wait()
				if waited.Load() != 3 || g.Waiting() != 0 {
					t.Errorf("%d got the outcome and %d still wait, want 3 and 0", waited.Load(), g.Waiting())
				}
			})
		})
	}
}

// Promise 8: live claims are bounded.
func TestBeginBoundsLiveClaims(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), &semel.Options{LiveClaims: 2})
	first := mustClaim(t, g, testKey("a"))
	mustClaim(t, g, testKey("b"))
	mustRefuse(t, g, testKey("c"), semel.ErrUnavailable)
	mustSucceed(t, first.Release(""))
	mustClaim(t, g, testKey("c"))
}

func TestBeginEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(t, memstore.New(nil), nil)
		mustClaim(t, g, testKey("a"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err := g.Begin(ctx, testKey("a"), testFingerprint())
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
		if g.Waiting() != 0 {
			t.Error("the seat was not given back")
		}
	})
}

func TestBeginRefusesBadKeys(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), nil)
	for name, tt := range map[string]struct {
		key  semel.Key
		want error
	}{
		"no scope":   {semel.Key{Name: "k"}, semel.ErrScopeMissing},
		"no name":    {semel.Key{Scope: "s"}, semel.ErrKeyInvalid},
		"long name":  {semel.Key{Scope: "s", Name: strings.Repeat("k", semel.MaxKeyBytes+1)}, semel.ErrKeyInvalid},
		"long scope": {semel.Key{Scope: strings.Repeat("s", semel.MaxScopeBytes+1), Name: "k"}, semel.ErrKeyInvalid},
		"control":    {semel.Key{Scope: "s", Name: "a\nb"}, semel.ErrKeyInvalid},
		"not UTF-8":  {semel.Key{Scope: "s", Name: "a\xffb"}, semel.ErrKeyInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mustRefuse(t, g, tt.key, tt.want)
		})
	}
}

func TestDedupModeStopsDuplicates(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), &semel.Options{Policy: semel.Policy{Dedup: true}})
	mustSucceed(t, mustClaim(t, g, testKey("a")).Complete([]byte("large answer"), nil))
	e := mustRefuse(t, g, testKey("a"), semel.ErrDuplicate)
	if e.Record == nil || e.Record.Outcome != nil {
		t.Errorf("dedup mode keeps no answer, got %+v", e.Record)
	}
}

func TestSecretAndHiddenKeys(t *testing.T) {
	t.Parallel()
	store := memstore.New(nil)
	g := newGuard(t, store, &semel.Options{Secrets: [][]byte{[]byte("0123456789abcdef")}, HideKeys: true})
	k := testKey("a")
	mustSucceed(t, mustClaim(t, g, k).Complete([]byte("one"), nil))
	if _, err := store.Lookup(t.Context(), k.Digest()); !errors.Is(err, semel.ErrNotFound) {
		t.Errorf("the record is found by the plain digest: %v", err)
	}
	rec, err := g.Lookup(t.Context(), k)
	if err != nil || rec.Scope != "" || rec.Name != "" {
		t.Errorf("got %+v, %v; want a record that hides its key", rec, err)
	}
	mustReplay(t, g, k, "one")
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	reconcile := func(context.Context, semel.Record) (semel.Reconciliation, error) {
		return semel.Reconciliation{}, nil
	}
	for name, opts := range map[string]semel.Options{
		"short secret":                {Secrets: [][]byte{[]byte("short")}},
		"secret twice":                {Secrets: [][]byte{[]byte("0123456789abcdef"), []byte("0123456789abcdef")}},
		"too many secrets":            {Secrets: [][]byte{make([]byte, 16), make([]byte, 17), make([]byte, 18), make([]byte, 19), make([]byte, 20)}},
		"outcome key of no id":        {OutcomeKeys: []semel.OutcomeKey{{Key: [32]byte{1}}}},
		"outcome key, bad id":         {OutcomeKeys: []semel.OutcomeKey{{ID: "a b", Key: [32]byte{1}}}},
		"outcome key of zeroes":       {OutcomeKeys: []semel.OutcomeKey{{ID: "a"}}},
		"outcome key of none":         {OutcomeKeys: []semel.OutcomeKey{{}}},
		"outcome key of none, second": {OutcomeKeys: []semel.OutcomeKey{{ID: "a", Key: [32]byte{1}}, {}}},
		"outcome key twice":           {OutcomeKeys: []semel.OutcomeKey{{ID: "a", Key: [32]byte{1}}, {ID: "a", Key: [32]byte{2}}}},
		"lease too short":             {Policy: semel.Policy{Lease: time.Millisecond}},
		"negative retention":          {Policy: semel.Policy{Retention: -time.Hour}},
		"negative max run":            {Policy: semel.Policy{MaxRun: -1}},
		"negative outcome":            {Policy: semel.Policy{MaxOutcomeBytes: -1}},
		"no reconcile func":           {Policy: semel.Policy{OnUnknown: semel.Reconcile}},
		"stray reconcile":             {Policy: semel.Policy{Reconcile: reconcile}},
		"no such answer to unknown":   {Policy: semel.Policy{OnUnknown: 9}},
		"negative waiters":            {Waiters: -1},
		"negative waiters per key":    {WaitersPerKey: -1},
		"negative waiters per scope":  {WaitersPerScope: -1},
		"negative live claims":        {LiveClaims: -1},
		"negative claims per scope":   {LiveClaimsPerScope: -1},
		"negative records":            {RecordsPerScope: -1},
		"negative queue":              {StoreQueue: -1},
		"negative store timeout":      {StoreTimeout: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := semel.New(memstore.New(nil), &opts); err == nil {
				t.Error("got no error")
			}
		})
	}
	if _, err := semel.New(nil, nil); err == nil {
		t.Error("got no error for no store")
	}
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		g := newGuard(t, store, nil)
		claim := mustClaim(t, g, testKey("a"))
		waiter := make(chan error)
		go func() {
			_, _, err := g.Begin(t.Context(), testKey("a"), testFingerprint())
			waiter <- err
		}()
		synctest.Wait()
		down := make(chan error)
		go func() { down <- g.Shutdown(t.Context()) }()
		if err := <-waiter; !errors.Is(err, semel.ErrClosed) {
			t.Errorf("the waiter got %v, want ErrClosed", err)
		}
		mustRefuse(t, g, testKey("b"), semel.ErrClosed)
		time.Sleep(time.Minute) // longer than a lease: the heartbeat goes on
		if err := claim.Context().Err(); err != nil {
			t.Errorf("the running claim was cancelled: %v", err)
		}
		if err := claim.Complete([]byte("one"), nil); err != nil {
			t.Error(err)
		}
		if err := <-down; err != nil {
			t.Errorf("shutdown: %v", err)
		}
		next, err := semel.New(store, nil)
		mustSucceed(t, err)
		mustReplay(t, next, testKey("a"), "one")
		mustSucceed(t, next.Close())
	})
}

// Promise 3: what a shutdown cuts off is recorded as unknown, so that a retry elsewhere hears so at once and not only
// when the lease has ended.
func TestShutdownRecordsWhatItCutsOffAsUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		g := newGuard(t, store, nil)
		claim := mustClaim(t, g, testKey("a"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "cut off: 1 (their outcomes are unknown)") {
			t.Errorf("shutdown: got %v, want its context's error, and the number of claims", err)
		}
		if cause := context.Cause(claim.Context()); !errors.Is(cause, semel.ErrLost) {
			t.Errorf("the claim's context ended with %v, want ErrLost", cause)
		}
		next := newGuard(t, store, &semel.Options{Policy: semel.Policy{Wait: semel.NoWait}})
		e := mustRefuse(t, next, testKey("a"), semel.ErrUnknown)
		if e.Record == nil || e.Record.Note != "cut off by shutdown" {
			t.Errorf("the record is %+v", e.Record)
		}
		mustSucceed(t, claim.Complete([]byte("late"), nil))
		mustReplay(t, next, testKey("a"), "late")
	})
}

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	seen := map[string]error{}
	for _, err := range []error{
		semel.ErrInFlight, semel.ErrMismatch, semel.ErrUnknown, semel.ErrCancelled, semel.ErrNotKept, semel.ErrDuplicate,
		semel.ErrUnavailable, semel.ErrNotStored, semel.ErrClosed, semel.ErrScopeMissing, semel.ErrKeyInvalid,
	} {
		text := (&semel.Error{Err: err}).Advice()
		if other, twice := seen[text]; twice {
			t.Errorf("%v and %v give the same advice", err, other)
		}
		seen[text] = err
	}
}
