package dbguard_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/guardtest"
)

const makeAccounts = "CREATE TABLE account (id int PRIMARY KEY, balance bigint NOT NULL)"

func account(id int) dbguard.Row { return dbguard.RowAt("account", "id", id) }

// balance reads what an account holds.
func balance(ctx context.Context, s dbguard.Session, id int) (int64, error) {
	return guardtest.Number(ctx, s, "SELECT balance FROM account WHERE id = "+dialect.Dialect(s.Dialect()).Placeholder(1), id)
}

var errPoor = errors.New("not enough")

// withdraw takes 100 in the usual way: look, then change.
func withdraw(ctx context.Context, s dbguard.Session, id int) error {
	n, err := balance(ctx, s, id)
	if err != nil {
		return err
	}
	if n < 100 {
		return errPoor
	}
	_, err = s.Exec(ctx, "UPDATE account SET balance = balance - 100 WHERE id = "+dialect.Dialect(s.Dialect()).Placeholder(1), id)
	return err
}

func fill(t *testing.T, db *guardtest.Database, keys, balance int) {
	t.Helper()
	db.Run(t, makeAccounts)
	db.Insert(t, keys, fmt.Sprintf("INSERT INTO account (id, balance) VALUES ({key}, %d)", balance))
}

// Balance 150, transfer 100, twice or sixteen times at once: one succeeds. The
// same without the lock overdraws.
func TestLockRowRace(t *testing.T) {
	t.Parallel()
	guardtest.EachRace(t, func(t *testing.T, db *guardtest.Database) {
		fill(t, db, guardtest.Keys, 150)
		var paid, refused atomic.Int64
		guardtest.Race(t, guardtest.Callers, guardtest.Keys, func(ctx context.Context, _, key int) error {
			err := again(ctx, db, func(ctx context.Context, tx dbguard.Session) error {
				if err := dbguard.LockRows(ctx, tx, 0, account(key)); err != nil {
					return err
				}
				return withdraw(ctx, tx, key)
			})
			switch {
			case errors.Is(err, errPoor):
				refused.Add(1)
				return nil
			case err == nil:
				paid.Add(1)
			}
			return err
		})
		if got := db.Number(t, "SELECT count(*) FROM account WHERE balance = 50"); got != guardtest.Keys {
			t.Errorf("%d accounts hold 50, want %d", got, guardtest.Keys)
		}
		if paid.Load() != guardtest.Keys || refused.Load() != guardtest.Keys*(guardtest.Callers-1) {
			t.Errorf("%d transfers succeeded and %d were refused, want %d and %d", paid.Load(), refused.Load(),
				guardtest.Keys, guardtest.Keys*(guardtest.Callers-1))
		}
	})
}

// Transfers between the same accounts in both directions do not deadlock: each
// locks in one order. What they move stays in sum.
func TestLockRowsInBothDirections(t *testing.T) {
	t.Parallel()
	const accounts, rounds = 4, 2 * guardtest.Keys
	guardtest.EachRace(t, func(t *testing.T, db *guardtest.Database) {
		fill(t, db, accounts, 1000)
		guardtest.Race(t, guardtest.Callers, rounds, func(ctx context.Context, caller, round int) error {
			from, to := (caller+round)%accounts, (caller/2+round)%accounts
			return db.InTx(ctx, func(ctx context.Context, tx dbguard.Session) error { // once: no deadlock is forgiven
				if err := dbguard.LockRows(ctx, tx, 0, account(from), account(to)); err != nil {
					return err
				}
				for id, change := range map[int]int{from: -1, to: 1} {
					if from == to {
						break
					}
					if _, err := tx.Exec(ctx, fmt.Sprintf("UPDATE account SET balance = balance + %d WHERE id = %d", change, id)); err != nil {
						return err
					}
				}
				return nil
			})
		})
		if got := db.Number(t, "SELECT sum(balance) FROM account"); got != accounts*1000 {
			t.Errorf("the accounts hold %d, want %d", got, accounts*1000)
		}
	})
}

// A row that is held differs from one that is free and one that is not
// there; a wait ends when the row is free, or after its time.
func TestLockRowHeld(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		fill(t, db, 2, 150)
		lock := func(id int, wait time.Duration) error {
			return db.InTx(t.Context(), func(ctx context.Context, tx dbguard.Session) error {
				return dbguard.LockRows(ctx, tx, wait, account(id))
			})
		}
		for _, wait := range []time.Duration{-1, time.Second, 0} {
			if err := lock(0, wait); err != nil {
				t.Errorf("a free row, wait %v: %v", wait, err)
			}
			if err := lock(7, wait); !errors.Is(err, dbguard.ErrNotFound) {
				t.Errorf("no row, wait %v: got %v, want ErrNotFound", wait, err)
			}
		}
		if db.Dialect() == dbguard.SQLite {
			return // a second transaction does not begin
		}
		err := db.InTx(t.Context(), func(ctx context.Context, tx dbguard.Session) error {
			if err := dbguard.LockRows(ctx, tx, time.Second, account(0)); err != nil {
				return err
			}
			if err := lock(1, -1); err != nil {
				t.Errorf("another row: %v", err)
			}
			for _, wait := range []time.Duration{-1, 20 * time.Millisecond} {
				if err := lock(0, wait); !errors.Is(err, dbguard.ErrHeld) || dbguard.Retryable(err) {
					t.Errorf("a held row, wait %v: got %v, want ErrHeld, which is not Retryable", wait, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// The time-out is for the one lock: afterwards the server's is as it was.
func TestLockRowLeavesTheTimeoutAlone(t *testing.T) {
	t.Parallel()
	show := map[dbguard.Dialect][2]string{
		dbguard.PostgreSQL: {"SET LOCAL lock_timeout = 12345", "SELECT setting::int FROM pg_settings WHERE name = 'lock_timeout'"},
		dbguard.MySQL:      {"SET SESSION innodb_lock_wait_timeout = 12345", "SELECT @@SESSION.innodb_lock_wait_timeout"},
	}
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		statements, ok := show[db.Dialect()]
		if !ok {
			return // it has no such setting
		}
		fill(t, db, 1, 150)
		for _, id := range []int{0, 7} {
			err := db.InTx(t.Context(), func(ctx context.Context, tx dbguard.Session) error {
				if _, err := tx.Exec(ctx, statements[0]); err != nil {
					return err
				}
				err := dbguard.LockRows(ctx, tx, time.Second, account(id))
				if err != nil && !errors.Is(err, dbguard.ErrNotFound) {
					return err
				}
				got, err := guardtest.Number(ctx, tx, statements[1])
				if got != 12345 {
					t.Errorf("account %d: the time-out is %d, want 12345", id, got)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
	})
}

// Workers take free rows of a queue: every row is taken once, and none waits for
// another.
func TestLockFree(t *testing.T) {
	t.Parallel()
	const jobs = 800
	guardtest.EachRace(t, func(t *testing.T, db *guardtest.Database) {
		fill(t, db, jobs, 150)
		free := dbguard.Free{Table: "account", Column: "id", Where: []dbguard.Cell{{Column: "balance", Value: 150}}, Limit: 3}
		var mu sync.Mutex // guards taken
		var taken []int
		guardtest.Race(t, guardtest.Callers, 1, func(ctx context.Context, _, _ int) error {
			for {
				var got []int
				err := again(ctx, db, func(ctx context.Context, tx dbguard.Session) (err error) {
					if got, err = dbguard.LockFree[int](ctx, tx, free); err != nil {
						return err
					}
					for _, id := range got {
						if err := withdraw(ctx, tx, id); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					return err
				}
				mu.Lock()
				taken = append(taken, got...)
				done := len(taken) >= jobs
				mu.Unlock()
				if done {
					return nil
				}
			}
		})
		slices.Sort(taken)
		want := make([]int, jobs)
		for i := range want {
			want[i] = i
		}
		if diff := cmp.Diff(want, taken); diff != "" {
			t.Errorf("jobs taken (-want +got):\n%s", diff)
		}
	})
}

// What would lock nothing, or everything, is refused.
func TestLockRowRefuses(t *testing.T) {
	t.Parallel()
	db := guardtest.Open(t, dbguard.SQLite)
	fill(t, db, 1, 0)
	err := db.InTx(t.Context(), func(ctx context.Context, tx dbguard.Session) error {
		for _, row := range []dbguard.Row{{}, {Table: "account"}, {Table: "account", Key: []dbguard.Cell{{Value: 1}}}, {Key: account(0).Key}} {
			if err := dbguard.LockRows(ctx, tx, -1, row); err == nil {
				t.Errorf("a lock of %v was taken", row)
			}
			if err := dbguard.LockRows(ctx, tx, -1, account(0), row); err == nil {
				t.Errorf("LockRows of %v was taken", row)
			}
		}
		if err := dbguard.LockRows(ctx, tx, -1, make([]dbguard.Row, 1001)...); err == nil {
			t.Error("LockRows of 1001 rows was taken")
		}
		for _, free := range []dbguard.Free{{}, {Table: "account"}, {Column: "id"}, {Table: "account", Column: "id", Limit: -1}, {Table: "account", Column: "id", Limit: 1001}} {
			if _, err := dbguard.LockFree[int](ctx, tx, free); err == nil {
				t.Errorf("LockFree of %v was taken", free)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// MySQL's time-out is a setting of the connection: it is set back also when the
// caller has gone, or the connection's next user would have it.
func TestLockRowLeavesTheConnectionAlone(t *testing.T) {
	t.Parallel()
	db := guardtest.Open(t, dbguard.MySQL)
	fill(t, db, 1, 150)
	db.SQL.SetMaxOpenConns(1)
	const setting = "SELECT @@SESSION.innodb_lock_wait_timeout"
	want := db.Number(t, setting)
	tx, err := db.SQL.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = dbguard.LockRows(ctx, leaver{dbguard.SQL(dbguard.MySQL, tx), cancel}, 7*time.Second, account(0))
	noError(t, errors.Join(err, tx.Rollback()))
	if got := db.Number(t, setting); got != want {
		t.Errorf("the next transaction waits for %d s, want %d s", got, want)
	}
}

// leaver is a session whose caller goes when its lock has been answered.
type leaver struct {
	dbguard.Session

	leave context.CancelFunc
}

func (l leaver) Query(ctx context.Context, statement string, args ...any) (dbguard.Rows, error) {
	rows, err := l.Session.Query(context.WithoutCancel(ctx), statement, args...)
	if strings.HasSuffix(statement, "FOR UPDATE") {
		l.leave()
	}
	return rows, err
}
