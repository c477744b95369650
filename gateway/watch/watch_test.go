package watch_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway/watch"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newGuard(t *testing.T, store semel.Store) *semel.Guard {
	t.Helper()
	guard := must.Get(semel.New(store, &semel.Options{SweepEvery: -1, Policy: semel.Policy{Lease: time.Minute, Retention: 48 * time.Hour, UnknownRetention: 48 * time.Hour}}))
	t.Cleanup(func() { _ = errors.Join(guard.Close(), store.Close()) })
	return guard
}

func begin(t *testing.T, guard *semel.Guard, name string) *semel.Claim {
	t.Helper()
	return begun(guard.Begin(t.Context(), semel.Key{Scope: "s", Name: name}, semel.FingerprintOf("x")))
}

func begun(claim *semel.Claim, _ *semel.Record, err error) *semel.Claim { return must.Get(claim, err) }

var noError = claimtest.NoError

func lose(t *testing.T, guard *semel.Guard, name string) semel.Record {
	t.Helper()
	claim := begin(t, guard, name)
	noError(t, claim.Unknown("lost"))
	return must.Get(guard.Lookup(t.Context(), semel.Key{Scope: "s", Name: name}))
}

func want(t *testing.T, u *watch.Unknown, age time.Duration, count int) {
	t.Helper()
	if got, n := u.Oldest(); got.Round(time.Second) != age || n != count {
		t.Errorf("got %v and %d, want %v and %d", got, n, age, count)
	}
}

// TestOldest follows the oldest unknown outcome until an operator settles it, then the next one.
func TestOldest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		guard := newGuard(t, memstore.New(nil))
		u := must.Get(watch.New(guard))
		u.Pass(t.Context())
		want(t, u, 0, 0)
		first := lose(t, guard, "a")
		time.Sleep(time.Hour)
		lose(t, guard, "b")
		noError(t, begin(t, guard, "c").Release("nothing"))
		u.Pass(t.Context())
		time.Sleep(time.Minute)
		want(t, u, time.Hour+time.Minute, 2)
		records := must.Get(operator.New(guard, nil))
		must.Get(records.Resolve(t.Context(), operator.Identity{Name: "alice", Via: "test"}, first.Digest, first.Fence, semel.Settlement{State: semel.StateReleased, Note: "seen"}))
		u.Pass(t.Context())
		want(t, u, time.Minute, 1)
	})
}

// ordered lists by claim, as databases do, and examines twenty records at a time.
type ordered struct{ *memstore.Store }

// List implements semel.Lister.
func (o ordered) List(ctx context.Context, p semel.ListParams) (page semel.ListPage, err error) {
	all, err := o.Store.List(ctx, semel.ListParams{})
	if err != nil {
		return page, err
	}
	before, _ := strconv.ParseUint(cmp.Or(p.After, "18446744073709551615"), 10, 64)
	for i := range all.Records { // the newest first
		rec := &all.Records[i]
		if uint64(rec.Fence) >= before {
			continue
		}
		if page.Examined == 20 {
			page.Next = fmt.Sprint(all.Records[i-1].Fence)
			break
		}
		page.Examined++
		if slices.Contains(p.States, rec.State) {
			page.Records = append(page.Records, *rec)
		}
	}
	return page, nil
}

// TestBehind finds an old outcome among more records than one pass reads, and reports how far the passes have come.
func TestBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		guard := newGuard(t, ordered{memstore.New(nil)})
		lose(t, guard, "old")
		for i := range 130 {
			noError(t, begin(t, guard, fmt.Sprint(i)).CompleteWithout(nil))
		}
		u := must.Get(watch.New(guard))
		time.Sleep(time.Hour)
		u.Pass(t.Context())
		want(t, u, 0, 0)
		if u.ScanAge() != time.Hour {
			t.Errorf("before the first round: %v", u.ScanAge())
		}
		time.Sleep(watch.Every)
		u.Pass(t.Context())
		want(t, u, time.Hour+watch.Every, 1)
		u.Pass(t.Context())
		u.Pass(t.Context())
		if u.ScanAge() > watch.Every {
			t.Errorf("after two rounds: %v", u.ScanAge())
		}
	})
}

// TestBound remembers the oldest of very many.
func TestBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		guard := newGuard(t, memstore.New(nil))
		for i := range 1200 {
			lose(t, guard, fmt.Sprint(i))
			time.Sleep(time.Second)
		}
		u := must.Get(watch.New(guard))
		u.Pass(t.Context())
		want(t, u, 1200*time.Second, 1000)
	})
}

// TestStoreFails keeps what is known while the store does not answer.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		faulty := storetest.Break(memstore.New(nil), storetest.Faults{})
		guard := newGuard(t, faulty)
		lose(t, guard, "a")
		u := must.Get(watch.New(guard))
		u.Pass(t.Context())
		faulty.Partition()
		defer faulty.Heal()
		u.Pass(t.Context())
		want(t, u, 0, 1)
	})
}
