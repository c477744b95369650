package dbguard_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/internal/guardtest"
)

const (
	longLease  = time.Minute
	shortLease = 50 * time.Millisecond
)

func acquireLock(tb testing.TB, store dbguard.LockStore, owner byte, lease time.Duration) semel.Fence {
	tb.Helper()
	fence, won, err := store.Acquire(tb.Context(), "n", semel.Owner{owner}, lease)
	if err != nil || !won {
		tb.Fatalf("Acquire = %d, %v, %v, want a fence", fence, won, err)
	}
	return fence
}

// While a transaction that has checked its fence is open, its lock is renewed
// and no one takes it, though its lease has ended. Without the check, another
// does.
func TestCheckFenceHoldsOffTakers(t *testing.T) {
	t.Parallel()
	for name, open := range guardtest.Databases() {
		if name == dbguard.SQLite.String() {
			continue // there, no other transaction writes at all
		}
		for _, checked := range []bool{true, false} {
			t.Run(name+map[bool]string{true: "/checked", false: "/unchecked"}[checked], func(t *testing.T) {
				t.Parallel()
				db := open(t)
				makeLocks(t, db)
				store := dbguard.LockTable{}.On(db)
				locker := dbguard.NewLocker(store)
				defer locker.Close()
				mine := acquireLock(t, store, 1, longLease)
				err := db.InTx(t.Context(), func(ctx context.Context, tx dbguard.Session) error {
					if checked {
						if err := (dbguard.LockTable{}).CheckFence(ctx, tx, "n", mine); err != nil {
							return err
						}
					}
					if err := renewSoon(ctx, store); err != nil {
						t.Errorf("Renew during the transaction = %v, want nil", err)
					}
					lock, err := locker.Lock(ctx, "n", &dbguard.LockOptions{Lease: shortLease, Wait: 20 * shortLease})
					if taken := err == nil; taken == checked {
						t.Errorf("Lock of a lapsed lock during the transaction = %v", err)
					}
					if err == nil {
						return lock.Unlock(ctx)
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				lock, err := locker.Lock(t.Context(), "n", &dbguard.LockOptions{Wait: longLease})
				if err != nil {
					t.Fatalf("Lock after the transaction = %v", err)
				}
				err = db.InTx(t.Context(), func(ctx context.Context, tx dbguard.Session) error {
					return (dbguard.LockTable{}).CheckFence(ctx, tx, "n", mine)
				})
				if !errors.Is(err, dbguard.ErrFenced) {
					t.Errorf("CheckFence of the former holder = %v, want ErrFenced", err)
				}
				if err := lock.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// renewSoon renews for the first owner, unless that has to wait.
func renewSoon(ctx context.Context, store dbguard.LockStore) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	held, err := store.Renew(ctx, "n", semel.Owner{1}, shortLease)
	if err == nil && !held {
		err = dbguard.ErrLost
	}
	return err
}

func TestCheckFence(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		makeLocks(t, db)
		fence := acquireLock(t, dbguard.LockTable{}.On(db), 1, longLease)
		check := func(name string, fence semel.Fence) error {
			return db.InTx(t.Context(), func(ctx context.Context, tx dbguard.Session) error {
				return (dbguard.LockTable{}).CheckFence(ctx, tx, name, fence)
			})
		}
		if err := check("n", fence); err != nil {
			t.Errorf("the holder's = %v, want nil", err)
		}
		for what, err := range map[string]error{
			"an older fence": check("n", fence-1), "another lock's": check("N", fence),
		} {
			if !errors.Is(err, dbguard.ErrFenced) {
				t.Errorf("%s = %v, want ErrFenced", what, err)
			}
		}
		for what, err := range map[string]error{"no fence": check("n", 0), "a fence not given yet": check("n", fence+1)} {
			if err == nil || errors.Is(err, dbguard.ErrFenced) {
				t.Errorf("%s = %v, want an error that tells the mistake", what, err)
			}
		}
	})
}

func TestAdvanceFence(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		makeLocks(t, db)
		for i, c := range []struct {
			resource string
			fence    semel.Fence
			want     error
		}{
			{"r", 5, nil},
			{"r", 5, nil},
			{"r", 7, nil},
			{"r", 6, dbguard.ErrFenced},
			{"r", 7, nil},
			{"R", 1, nil},
			{"r ", 1, nil},
		} {
			if err := (dbguard.FenceTable{}).Advance(t.Context(), db, c.resource, c.fence); !errors.Is(err, c.want) {
				t.Errorf("step %d: AdvanceFence(%q, %d) = %v, want %v", i, c.resource, c.fence, err, c.want)
			}
		}
		for resource, fence := range map[string]semel.Fence{"": 9, "a\x00": 9, "r": 0} {
			if err := (dbguard.FenceTable{}).Advance(t.Context(), db, resource, fence); err == nil || errors.Is(err, dbguard.ErrFenced) {
				t.Errorf("AdvanceFence(%q, %d) = %v, want an error that tells the mistake", resource, fence, err)
			}
		}
		undone := errors.New("undone")
		if err := (dbguard.FenceTable{}).Fenced(t.Context(), db, "r", 9, func(context.Context, dbguard.Session) error { return undone }); !errors.Is(err, undone) {
			t.Errorf("Fenced = %v, want the error of its work", err)
		}
		if err := (dbguard.FenceTable{}).Advance(t.Context(), db, "r", 8); err != nil {
			t.Errorf("a fence whose transaction was rolled back refuses an older one: %v", err)
		}
	})
}

// A transaction whose snapshot shows an older fence is refused: by ErrFenced in
// MySQL, and by ErrSerialization where the database ends such a transaction.
func TestAdvanceFenceInSnapshots(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		if db.Dialect() == dbguard.SQLite {
			return // there, no two write at a time
		}
		makeLocks(t, db)
		noError(t, (dbguard.FenceTable{}).Advance(t.Context(), db, "r", 1))
		err := db.InSnapshot(t.Context(), "semel_fence", func(ctx context.Context, tx dbguard.Session) error {
			if err := (dbguard.FenceTable{}).Advance(ctx, db, "r", 9); err != nil {
				return err
			}
			return (dbguard.FenceTable{}).Advance(ctx, tx, "r", 5)
		})
		if errors.Is(err, dbguard.ErrFenced) == db.Strict || errors.Is(err, dbguard.ErrSerialization) != db.Strict {
			t.Errorf("AdvanceFence with an older fence = %v, want that it is refused", err)
		}
	})
}

// Of writers with all kinds of fences at once, none writes after one with a
// greater fence. The counter-example looks first and then writes.
func TestFencedRace(t *testing.T) {
	t.Parallel()
	const rounds = 100
	for name, open := range guardtest.RaceDatabases() {
		for _, guarded := range []bool{true, false} {
			if !guarded && name == dbguard.SQLite.String() {
				continue // its transactions are alone anyway
			}
			t.Run(name+map[bool]string{true: "/guarded", false: "/naive"}[guarded], func(t *testing.T) {
				t.Parallel()
				db := open(t)
				makeLocks(t, db)
				db.Run(t, "CREATE TABLE written (k INT NOT NULL, fence BIGINT NOT NULL)")
				var wrong, refused atomic.Int64
				// write writes, and finds out whether a holder with a greater fence had.
				write := func(key int, fence int64) func(context.Context, dbguard.Session) error {
					return func(ctx context.Context, tx dbguard.Session) error {
						k, f := strconv.Itoa(key), strconv.FormatInt(fence, 10)
						wrote, err := tx.Exec(ctx, "INSERT INTO written (k, fence) SELECT "+k+", "+f+
							" FROM (SELECT max(fence) AS seen FROM written WHERE k = "+k+") AS w WHERE seen IS NULL OR seen <= "+f)
						if err == nil && wrote == 0 {
							wrong.Add(1)
						}
						return err
					}
				}
				guardtest.Race(t, guardtest.Callers, rounds, func(ctx context.Context, _, key int) error {
					fence := 1 + rand.Int64N(1<<40)
					if guarded {
						err := (dbguard.FenceTable{}).Fenced(ctx, db, "r"+strconv.Itoa(key), semel.Fence(fence), write(key, fence))
						if errors.Is(err, dbguard.ErrFenced) {
							refused.Add(1)
							return nil
						}
						return err
					}
					seen := db.Number(t, "SELECT max(fence) FROM written WHERE k = "+strconv.Itoa(key)) //nolint:contextcheck // it is the test's.
					if seen > fence {
						refused.Add(1)
						return nil
					}
					return db.InTx(ctx, write(key, fence))
				})
				t.Logf("%d were refused, %d wrote late", refused.Load(), wrong.Load())
				if guarded != (wrong.Load() == 0) {
					t.Errorf("%d wrote after one with a greater fence", wrong.Load())
				}
			})
		}
	}
}

// A connection on which MySQL counts rows that did not change answers the same.
func TestLockTableCountsFoundRows(t *testing.T) {
	t.Parallel()
	db := foundRows(t)
	makeLocks(t, db)
	store := dbguard.LockTable{}.On(db)
	fence := acquireLock(t, store, 1, longLease)
	if again := acquireLock(t, store, 1, longLease); again != fence {
		t.Errorf("the owner that asks again gets fence %d, want %d again", again, fence)
	}
	if _, won, err := store.Acquire(t.Context(), "n", semel.Owner{2}, longLease); won || err != nil {
		t.Errorf("Acquire by another = %v, %v, want false", won, err)
	}
	if held, err := store.Release(t.Context(), "n", semel.Owner{2}); held || err != nil {
		t.Errorf("Release by another = %v, %v, want false", held, err)
	}
	if err := (dbguard.FenceTable{}).Advance(t.Context(), db, "r", 7); err != nil {
		t.Errorf("AdvanceFence = %v, want nil", err)
	}
	if err := (dbguard.FenceTable{}).Advance(t.Context(), db, "r", 6); !errors.Is(err, dbguard.ErrFenced) {
		t.Errorf("AdvanceFence with an older fence = %v, want ErrFenced", err)
	}
}
