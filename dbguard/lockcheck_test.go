package dbguard_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/internal/guardtest"
)

// transfer is the steps by which 100 leave an account that has them.
func transfer(d *dbguard.Dedup, id int, key semel.Key) dbguard.Steps[int64] {
	return dbguard.Steps[int64]{
		Lock:  []dbguard.Row{account(id)},
		Dedup: d, Key: key,
		Check: func(ctx context.Context, tx dbguard.Session) error {
			n, err := balance(ctx, tx, id)
			if err == nil && n < 100 {
				return errPoor
			}
			return err
		},
		Update: func(ctx context.Context, tx dbguard.Session) (int64, error) {
			if _, err := tx.Exec(ctx, fmt.Sprintf("UPDATE account SET balance = balance - 100 WHERE id = %d", id)); err != nil {
				return 0, err
			}
			return balance(ctx, tx, id)
		},
	}
}

// Balance 150, two requests for 100, each sent by eight callers: one request is
// done once, and all its callers get the balance it left; the other is
// refused, and so are all its callers. TestLookThenWriteLoses has the
// counter-example.
func TestLockCheckUpdateRace(t *testing.T) {
	t.Parallel()
	guardtest.EachRace(t, func(t *testing.T, db *guardtest.Database) {
		fill(t, db, guardtest.Keys, 150)
		d := newDedup(t, db)
		var firsts, replays, refused atomic.Int64
		guardtest.Race(t, guardtest.Callers, guardtest.Keys, func(ctx context.Context, caller, key int) error {
			left, first, err := dbguard.LockCheckUpdate(ctx, db, transfer(d, key, semel.Key{Scope: fmt.Sprint("request ", caller%2), Name: keyOf(key).Name}))
			switch {
			case errors.Is(err, errPoor):
				refused.Add(1)
				return nil
			case err == nil && left != 50:
				return fmt.Errorf("told that %d are left, want 50", left)
			case err == nil && first:
				firsts.Add(1)
			case err == nil:
				replays.Add(1)
			}
			return err
		})
		const twins = guardtest.Callers / 2
		got := []int64{firsts.Load(), replays.Load(), refused.Load(), db.Number(t, "SELECT count(*) FROM account WHERE balance = 50")}
		if diff := cmp.Diff([]int64{guardtest.Keys, guardtest.Keys * (twins - 1), guardtest.Keys * twins, guardtest.Keys}, got); diff != "" {
			t.Errorf("first, replayed, refused, accounts that hold 50 (-want +got):\n%s", diff)
		}
	})
}

// What goes wrong on the way leaves nothing, and the key free.
func TestLockCheckUpdateEnds(t *testing.T) {
	t.Parallel()
	errBroken := errors.New("broken")
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		fill(t, db, 1, 150)
		d := newDedup(t, db)
		broken := transfer(d, 0, keyOf(1))
		update := broken.Update
		broken.Update = func(ctx context.Context, tx dbguard.Session) (int64, error) {
			_, err := update(ctx, tx)
			return 0, errors.Join(err, errBroken)
		}
		other := transfer(d, 0, keyOf(1))
		other.Fingerprint = semel.Fingerprint{1}
		noDedup, noLock, noUpdate := transfer(nil, 0, keyOf(1)), transfer(d, 0, keyOf(1)), transfer(d, 0, keyOf(1))
		noLock.Lock, noUpdate.Update = nil, nil
		unchecked := transfer(d, 0, keyOf(2))
		unchecked.Check = nil
		for i, step := range []struct {
			steps dbguard.Steps[int64]
			left  int64
			first bool
			err   error
		}{
			{steps: broken, err: errBroken},
			{steps: transfer(d, 7, keyOf(1)), err: dbguard.ErrNotFound},
			{steps: transfer(d, 0, keyOf(1)), left: 50, first: true},
			{steps: transfer(d, 0, keyOf(1)), left: 50},
			{steps: other, err: semel.ErrMismatch},
			{steps: transfer(d, 0, keyOf(2)), err: errPoor},
			{steps: transfer(d, 0, semel.Key{Name: "x"}), err: semel.ErrScopeMissing},
			{steps: unchecked, left: -50, first: true},
		} {
			left, first, err := dbguard.LockCheckUpdate(t.Context(), db, step.steps)
			if left != step.left || first != step.first || !errors.Is(err, step.err) {
				t.Errorf("step %d: got %d, first %v, %v, want %d, first %v, %v", i, left, first, err, step.left, step.first, step.err)
			}
		}
		for _, steps := range []dbguard.Steps[int64]{noDedup, noLock, noUpdate} {
			if _, _, err := dbguard.LockCheckUpdate(t.Context(), db, steps); err == nil {
				t.Error("steps without one of them were taken")
			}
		}
	})
}

// A caller that does not wait gets its answer at once, and one that waits gets it
// then.
func TestLockCheckUpdateHeld(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		if db.Dialect() == dbguard.SQLite {
			return // a second transaction does not begin
		}
		fill(t, db, 1, 150)
		d := newDedup(t, db)
		err := db.InTx(t.Context(), func(ctx context.Context, tx dbguard.Session) error {
			if err := dbguard.LockRows(ctx, tx, -1, account(0)); err != nil {
				return err
			}
			for _, wait := range []time.Duration{-1, time.Millisecond} {
				steps := transfer(d, 0, keyOf(1))
				steps.Wait = wait
				if _, _, err := dbguard.LockCheckUpdate(ctx, db, steps); !errors.Is(err, dbguard.ErrHeld) {
					t.Errorf("wait %v: got %v, want ErrHeld", wait, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
