// Package locktest holds the contract of [dbguard.LockStore]. Only tests import it.
package locktest

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
)

const (
	callers = 16
	// unlocked is the number of times each caller adds without a lock.
	unlocked = 150
	lockers  = 4
	// long outlasts every test, short passes while one waits.
	long, short = time.Minute, 50 * time.Millisecond
)

// Run runs the contract as parallel subtests. Open returns a store for
// this test alone.
func Run(t *testing.T, open func(testing.TB) dbguard.LockStore) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, dbguard.LockStore){
		"race": race, "no_lock": noLock, "repeat": repeat, "release": release,
		"lapse": lapse, "renewal": renewal, "names": names,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// rounds returns how often each caller takes a lock.
func rounds() int {
	if os.Getenv("SEMEL_LONG") != "" {
		return 150
	}
	return 40
}

// counter is changed by a read and a write with time between them, as the work
// that a lock is for.
type counter struct {
	n     atomic.Int64
	fence atomic.Uint64
}

func (c *counter) add() {
	n := c.n.Load()
	for range 10 {
		runtime.Gosched()
	}
	c.n.Store(n + 1)
}

// race lets callers of several lockers add to counters, each under its lock.
func race(t *testing.T, store dbguard.LockStore) {
	t.Helper()
	all := make([]*dbguard.Locker, lockers)
	for i := range all {
		all[i] = locker(t, store)
	}
	names := []string{"stock", "Stock", "stock ", "størk"}
	counters := make([]counter, len(names))
	var group sync.WaitGroup
	rounds := rounds()
	for caller := range callers {
		group.Go(func() {
			for round := range rounds {
				at := (caller/lockers + round) % len(names)
				err := all[caller%lockers].Do(t.Context(), names[at], &dbguard.LockOptions{Lease: long}, func(_ context.Context, fence semel.Fence) error {
					if before := counters[at].fence.Swap(uint64(fence)); before >= uint64(fence) {
						t.Errorf("fence %d was given after %d", fence, before)
					}
					counters[at].add()
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	if group.Wait(); t.Failed() {
		return
	}
	var got int64
	for i := range counters {
		got += counters[i].n.Load()
	}
	if want := int64(callers * rounds); got != want {
		t.Errorf("%d callers added one %d times each under the lock, and the sum is %d, want %d", callers, rounds, got, want)
	}
}

// noLock is the counter-example: the work of race, without a lock.
func noLock(t *testing.T, _ dbguard.LockStore) {
	t.Helper()
	var c counter
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for range unlocked {
				c.add()
			}
		})
	}
	group.Wait()
	if got := c.n.Load(); got == callers*unlocked {
		t.Errorf("even without a lock the sum is right, %d: the race shows nothing", got)
	}
}

// repeat: a reply that was lost is given again, to the owner alone.
func repeat(t *testing.T, store dbguard.LockStore) {
	t.Helper()
	me, other := owner(), owner()
	first := acquire(t, store, "n", me, long)
	if second := acquire(t, store, "n", me, long); second != first {
		t.Errorf("the owner that asks again gets fence %d, want %d again", second, first)
	}
	if fence, won, err := store.Acquire(t.Context(), "n", other, long); won || err != nil {
		t.Errorf("Acquire by another = %d, %v, %v, want false", fence, won, err)
	}
	acquire(t, store, "N", other, long)
}

// release: at once, by the holder alone, as often as it likes; the fence is not given again.
func release(t *testing.T, store dbguard.LockStore) {
	t.Helper()
	me, other := owner(), owner()
	held(t, "Release of a free name", store.Release, me, false)
	first := acquire(t, store, "n", me, long)
	held(t, "Release by another", store.Release, other, false)
	held(t, "Renew by another", renewing(store), other, false)
	held(t, "Renew", renewing(store), me, true)
	held(t, "Release", store.Release, me, true)
	held(t, "Release again", store.Release, me, true)
	held(t, "Renew of what was released", renewing(store), me, false)
	if second := acquire(t, store, "n", other, long); second <= first {
		t.Errorf("fence after a release is %d, want more than %d", second, first)
	}
	held(t, "Release by a former holder", store.Release, me, false)
	held(t, "Renew by a former holder", renewing(store), me, false)
	held(t, "Renew by the holder", renewing(store), other, true)
}

// lapse: a dead holder's lock is taken when its lease ends, with a greater fence.
func lapse(t *testing.T, store dbguard.LockStore) {
	t.Helper()
	dead := owner()
	first := acquire(t, store, "n", dead, short)
	lock, err := locker(t, store).Lock(t.Context(), "n", &dbguard.LockOptions{Lease: long, Wait: long})
	if err != nil {
		t.Fatal(err)
	}
	if lock.Fence() <= first {
		t.Errorf("fence after a lapse is %d, want more than %d", lock.Fence(), first)
	}
	held(t, "Renew by a former holder", renewing(store), dead, false)
	held(t, "Release by a former holder", store.Release, dead, false)
	unlock(t, lock)
}

// renewal: a living holder keeps its lock for longer than the lease.
func renewal(t *testing.T, store dbguard.LockStore) {
	t.Helper()
	const lease = 2 * time.Second
	mine, others := locker(t, store), locker(t, store)
	lock, err := mine.Lock(t.Context(), "n", &dbguard.LockOptions{Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mine.TryLock(t.Context(), "n", nil); !errors.Is(err, dbguard.ErrHeld) {
		t.Errorf("TryLock in the same process = %v, want ErrHeld", err)
	}
	if _, err := others.TryLock(t.Context(), "n", nil); !errors.Is(err, dbguard.ErrHeld) {
		t.Errorf("TryLock elsewhere = %v, want ErrHeld", err)
	}
	if _, err := others.Lock(t.Context(), "n", &dbguard.LockOptions{Wait: 2 * lease}); !errors.Is(err, dbguard.ErrHeld) {
		t.Errorf("Lock = %v after two leases, want ErrHeld", err)
	}
	if err := lock.Context().Err(); err != nil {
		t.Errorf("the lock was lost: %v", context.Cause(lock.Context()))
	}
	unlock(t, lock)
	unlock(t, lock)
	// Not by others: what it gave up may still be on its way to be undone.
	again, err := locker(t, store).TryLock(t.Context(), "n", nil)
	if err != nil {
		t.Fatalf("TryLock of what was released: %v", err)
	}
	unlock(t, lock) // the answer stays what it was
	unlock(t, again)
}

// names: a malformed name is refused without asking the store.
func names(t *testing.T, store dbguard.LockStore) {
	t.Helper()
	l := locker(t, store)
	for _, name := range []string{"", string(make([]byte, 201)), "a\x00b", "\xff", "line\n"} {
		if _, err := l.TryLock(t.Context(), name, nil); err == nil || errors.Is(err, dbguard.ErrHeld) {
			t.Errorf("TryLock(%q) = %v, want that the name is refused", name, err)
		}
	}
	for _, lease := range []time.Duration{-1, 1, 25 * time.Hour} {
		if _, err := l.TryLock(t.Context(), "n", &dbguard.LockOptions{Lease: lease}); err == nil {
			t.Errorf("TryLock with a lease of %v has no error", lease)
		}
	}
}

func locker(tb testing.TB, store dbguard.LockStore) *dbguard.Locker {
	tb.Helper()
	l := dbguard.NewLocker(store)
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

func owner() (o semel.Owner) {
	rand.Read(o[:])
	return o
}

func acquire(tb testing.TB, store dbguard.LockStore, name string, o semel.Owner, lease time.Duration) semel.Fence {
	tb.Helper()
	fence, won, err := store.Acquire(tb.Context(), name, o, lease)
	if err != nil || !won || fence == 0 {
		tb.Fatalf("Acquire = %d, %v, %v, want a fence", fence, won, err)
	}
	return fence
}

func renewing(store dbguard.LockStore) func(context.Context, string, semel.Owner) (bool, error) {
	return func(ctx context.Context, name string, o semel.Owner) (bool, error) {
		return store.Renew(ctx, name, o, long)
	}
}

func held(tb testing.TB, what string, verb func(context.Context, string, semel.Owner) (bool, error), o semel.Owner, want bool) {
	tb.Helper()
	if got, err := verb(tb.Context(), "n", o); got != want || err != nil {
		tb.Errorf("%s = %v, %v, want %v", what, got, err, want)
	}
}

func unlock(tb testing.TB, lock *dbguard.Lock) {
	tb.Helper()
	if err := lock.Unlock(tb.Context()); err != nil {
		tb.Errorf("Unlock = %v, want nil", err)
	}
}
