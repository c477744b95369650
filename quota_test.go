package semel_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/memstore"
)

// TestLiveClaimsPerScope: one scope cannot take the room of another, and what it has already is still answered.
func TestLiveClaimsPerScope(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), &semel.Options{LiveClaimsPerScope: 2})
	done := mustClaim(t, g, testKey("done"))
	mustSucceed(t, done.Complete([]byte("17"), nil))
	first := mustClaim(t, g, testKey("a"))
	mustClaim(t, g, testKey("b"))
	if e := mustRefuse(t, g, testKey("c"), semel.ErrQuota); !e.Retryable() || e.RetryAfter <= 0 {
		t.Errorf("retryable %v after %v", e.Retryable(), e.RetryAfter)
	}
	mustReplay(t, g, testKey("done"), "17")
	mustClaim(t, g, semel.Key{Scope: "another", Name: "c"})
	mustSucceed(t, first.Release(""))
	mustClaim(t, g, testKey("c"))
	mustRefuse(t, g, testKey("d"), semel.ErrQuota)
}

// TestLiveQuotaIsGivenBack runs many attempts of all outcomes: afterwards no seat is missing.
func TestLiveQuotaIsGivenBack(t *testing.T) {
	t.Parallel()
	const most = 3
	store := newHooked()
	g := newGuard(t, store, &semel.Options{LiveClaimsPerScope: most, Policy: semel.Policy{Wait: 10 * time.Millisecond}})
	store.set(store.before, "claim", func() error {
		if store.count("claim")%7 == 0 {
			return semel.ErrFull
		}
		return nil
	})
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			claim, _, err := g.Begin(t.Context(), testKey(fmt.Sprint(i%20)), testFingerprint())
			switch {
			case claim != nil && i%3 == 0:
				err = claim.Release("")
			case claim != nil && i%3 == 1:
				err = claim.Unknown("")
			case claim != nil:
				err = claim.Complete(nil, nil)
			}
			if err != nil && claim != nil {
				t.Errorf("settle: %v", err)
			}
		})
	}
	all.Wait()
	store.set(store.before, "claim", nil)
	for i := range most {
		mustClaim(t, g, testKey(fmt.Sprint("after ", i)))
	}
	mustRefuse(t, g, testKey("one more"), semel.ErrQuota)
}

// TestRecordsPerScope: a full scope claims nothing new, still replays, and goes on when records have expired.
func TestRecordsPerScope(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const most = 8
		store := memstore.New(nil)
		g := newGuard(t, store, &semel.Options{RecordsPerScope: most, Policy: semel.Policy{Retention: time.Minute}})
		for i := range most {
			mustSucceed(t, mustClaim(t, g, testKey(fmt.Sprint(i))).Complete([]byte("17"), nil))
		}
		if e := mustRefuse(t, g, testKey("one more"), semel.ErrQuota); e.RetryAfter <= 0 {
			t.Errorf("retry after %v", e.RetryAfter)
		}
		mustReplay(t, g, testKey("0"), "17")
		mustClaim(t, g, semel.Key{Scope: "another", Name: "0"})
		time.Sleep(time.Minute)
		mustClaim(t, g, testKey("one more"))
	})
}

// TestRecordQuotaCountsWhatStays: released records and records of others do not count, and the window slides.
func TestRecordQuotaCountsWhatStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const most = 4
		g := newGuard(t, memstore.New(nil), &semel.Options{RecordsPerScope: most, Policy: semel.Policy{Retention: time.Hour}})
		for range 3 * most {
			mustSucceed(t, mustClaim(t, g, testKey("released")).Release(""))
		}
		complete := func(name string) {
			t.Helper()
			mustSucceed(t, mustClaim(t, g, testKey(name)).Complete([]byte("17"), nil))
		}
		complete("a")
		for range 3 * most {
			mustReplay(t, g, testKey("a"), "17")
		}
		time.Sleep(40 * time.Minute)
		complete("b")
		complete("c")
		complete("d")
		mustRefuse(t, g, testKey("e"), semel.ErrQuota)
		time.Sleep(25 * time.Minute) // a has expired, the others have not
		complete("e")
		mustRefuse(t, g, testKey("f"), semel.ErrQuota)
	})
}

// TestTakingOverMakesNoRecord: repeated attempts to resolve one record make no further one.
func TestTakingOverMakesNoRecord(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), &semel.Options{RecordsPerScope: 2, Policy: asked(func(semel.Record) (semel.Reconciliation, error) {
		return semel.Reconciliation{}, nil
	})})
	mustSucceed(t, mustClaim(t, g, testKey("a")).Unknown("upstream reset"))
	for range 3 {
		mustRefuse(t, g, testKey("a"), semel.ErrUnknown)
	}
	mustClaim(t, g, testKey("b"))
	mustRefuse(t, g, testKey("c"), semel.ErrQuota)
	mustRefuse(t, g, testKey("a"), semel.ErrUnknown)
}

// TestRecordsOfSeveralRetentions: views of one guard that keep the records of a
// scope for a minute and for an hour do not make the quota forget either.
func TestRecordsOfSeveralRetentions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const most = 4
		short := newGuard(t, memstore.New(nil), &semel.Options{RecordsPerScope: most, Policy: semel.Policy{Retention: time.Minute}})
		long, err := short.With(semel.Policy{Retention: time.Hour})
		mustSucceed(t, err)
		complete := func(g *semel.Guard, name string) {
			t.Helper()
			mustSucceed(t, mustClaim(t, g, testKey(name)).Complete([]byte("17"), nil))
		}
		time.Sleep(30 * time.Minute)
		complete(short, "a")
		complete(long, "b")
		complete(long, "c")
		time.Sleep(10 * time.Minute)
		complete(short, "d")
		mustRefuse(t, short, testKey("e"), semel.ErrQuota)
		mustRefuse(t, long, testKey("e"), semel.ErrQuota)
		time.Sleep(55 * time.Minute) // all but d have expired, and so has that
		complete(short, "e")
		complete(long, "f")
	})
}

// TestRecordQuotaCountsARecordOnce: resolving an unknown record makes no other
// record, and works where the scope has had its share.
func TestRecordQuotaCountsARecordOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		policy := asked(func(semel.Record) (semel.Reconciliation, error) { return semel.Reconciliation{}, nil })
		g := newGuard(t, memstore.New(nil), &semel.Options{RecordsPerScope: 2, Policy: policy})
		mustSucceed(t, mustClaim(t, g, testKey("a")).Unknown("upstream reset"))
		for range 5 {
			time.Sleep(time.Hour)
			if r, err := operate(g).ReconcileUnknown(t.Context(), operator.Unattended{}); err != nil || r.Still != 1 {
				t.Fatalf("got %+v, %v; want one tried in vain", r, err)
			}
		}
		mustSucceed(t, mustClaim(t, g, testKey("b")).Unknown("upstream reset"))
		mustRefuse(t, g, testKey("c"), semel.ErrQuota)
		time.Sleep(time.Hour)
		if r, err := operate(g).ReconcileUnknown(t.Context(), operator.Unattended{}); err != nil || r.Still != 2 {
			t.Fatalf("with the share used up: got %+v, %v; want two tried in vain", r, err)
		}
	})
}

// TestFlooderIsNotForgotten: many other scopes do not make the quota forget the one that is full.
func TestFlooderIsNotForgotten(t *testing.T) {
	t.Parallel()
	const most = 3
	g := newGuard(t, memstore.New(nil), &semel.Options{RecordsPerScope: most})
	for i := range most {
		mustSucceed(t, mustClaim(t, g, testKey(fmt.Sprint(i))).Complete(nil, nil))
	}
	for i := range 40_000 { // more than twice what is remembered
		mustSucceed(t, mustClaim(t, g, semel.Key{Scope: fmt.Sprint("scope ", i), Name: "a"}).Complete(nil, nil))
	}
	mustRefuse(t, g, testKey("one more"), semel.ErrQuota)
}
