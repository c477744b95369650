package mysqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/mysqlstore"
)

var errBusiness = errors.New("no such customer")

// recovered turns a panic with an error into that error.
func recovered(fn func() (string, error)) (answer string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = p.(error)
		}
	}()
	return fn()
}

// Promise 4: a caller that goes away rolls back, and so does the end of the
// time for the work; work that ignores it keeps no locks.
func TestDoContextEnds(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, d door) {
		t.Helper()
		for name, policy := range map[string]semel.Policy{"caller": {}, "time": {MaxRun: 2 * time.Second}} {
			t.Run(name, func(t *testing.T) {
				b := setUpTx(t, d, &semel.Options{Policy: policy})
				_, second := b.second(t, nil)
				apart := t.Context()
				ctx, cancel := context.WithCancel(apart)
				defer cancel()
				_, err := b.do(ctx, "k", func(ctx context.Context, tx *sql.Tx) (string, error) {
					if err := insert(ctx, tx, "k"); err != nil {
						return "", err
					}
					if policy.MaxRun == 0 {
						cancel()
					}
					<-ctx.Done()
					// Deaf work: another process gets the key, and this one cannot write any more.
					if _, err := mysqlstore.Do(apart, second, key("k"), asked(), add("other")); err != nil {
						t.Error(err)
					}
					wantErr(t, "a late statement: ", insert(context.WithoutCancel(ctx), tx, "late"), sql.ErrTxDone)
					return "late", nil
				})
				wantErr(t, "", err, semel.ErrRolledBack)
				b.wantRows(t, "other")
				b.goesOn(t)
			})
		}
	})
}

// A statement that is cut off by its context breaks the connection, and with it
// the transaction.
func TestDoStatementCutOff(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, d door) {
		t.Helper()
		b := setUpTx(t, d, nil)
		_, err := b.do(t.Context(), "k", func(ctx context.Context, tx *sql.Tx) (string, error) {
			if err := insert(ctx, tx, "k"); err != nil {
				return "", err
			}
			short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			defer cancel()
			_, err := tx.ExecContext(short, "SELECT SLEEP(1)") // which the server finishes
			return "", err
		})
		wantErr(t, "", err, context.DeadlineExceeded)
		b.wantRows(t)
		b.wantState(t, "k", semel.StateAbsent)
		b.goesOn(t)
	})
}

// The level that was asked for is the one there is: a row that another
// transaction commits meanwhile is seen, or not.
func TestIsolationIsKept(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, d door) {
		t.Helper()
		for level, want := range map[sql.IsolationLevel]int{sql.LevelReadCommitted: 1, sql.LevelRepeatableRead: 0} {
			b := setUpTx(t, d, nil)
			n, err := semel.DoTx(t.Context(), b.guard, b.store.Transactor(&sql.TxOptions{Isolation: level}), key("k"), asked(), func(ctx context.Context) (n int, err error) {
				tx := mysqlstore.TxFrom(ctx)
				if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM business").Scan(&n); err != nil {
					return 0, err
				}
				if err := insert(ctx, b.db, "of another"); err != nil {
					return 0, err
				}
				err = tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM business").Scan(&n)
				return n, err
			})
			if err != nil || n != want {
				t.Errorf("%v: got %d rows, error %v, want %d", level, n, err, want)
			}
		}
	})
}

// What cannot work is refused before anything happens, and says what to do.
func TestDoRefuses(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, d door) {
		t.Helper()
		b := setUpTx(t, d, nil)
		for name, o := range map[string]*sql.TxOptions{
			"leave ReadOnly of sql.TxOptions unset": {ReadOnly: true},
			"isolation level":                       {Isolation: sql.LevelLinearizable},
		} {
			_, err := semel.DoTx(t.Context(), b.guard, b.store.Transactor(o), key("k"), asked(), func(context.Context) (string, error) {
				t.Error("it was executed")
				return "", nil
			})
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("got %v, want %q", err, name)
			}
		}
		b.wantState(t, "k", semel.StateAbsent)
		b.goesOn(t)
	})
}

// A guard of another store gets an error that says so.
func TestDoNeedsTheStore(t *testing.T) {
	t.Parallel()
	s := memstore.New(nil)
	closes(t, s)
	g := claimtest.Guard(t, s, nil)
	_, err := mysqlstore.Do(t.Context(), g, key("k"), asked(), never(t))
	wantWords(t, err, "mysqlstore.Open")
	_, err = mysqlstore.Join(t.Context(), g, nil, key("k"), asked(), func(ctx context.Context) (string, error) { return never(t)(ctx, nil) })
	wantWords(t, err, "mysqlstore.Open")
}

// Promise 2: an outcome too large for the text of a statement comes back as it
// was, and one too large for the server is refused, and nothing happened.
func TestDoLargeOutcomes(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]door{"open": {}, "any pool": {pool: quietPool, long: true}} {
		if d.long && !claimtest.Long() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setUpTx(t, d, &semel.Options{Policy: semel.Policy{MaxOutcomeBytes: 1 << 30}, StoreTimeout: time.Minute})
			packet := value(t, b.db, "SELECT @@max_allowed_packet")
			var most int
			if _, err := fmt.Sscan(packet, &most); err != nil {
				t.Fatal(err)
			}
			for name, size := range map[string]int{"as text": most / 16, "as an argument": most * 5 / 8} {
				want := string(bytes.Repeat([]byte{'x'}, size))
				for range 2 {
					got, err := b.do(t.Context(), name, func(ctx context.Context, tx *sql.Tx) (string, error) {
						return want, insert(ctx, tx, name)
					})
					if err != nil || got != want {
						t.Errorf("%s: got %d bytes, error %.200v, want %d", name, len(got), err, size)
					}
				}
			}
			_, err := b.do(t.Context(), "too large", func(ctx context.Context, tx *sql.Tx) (string, error) {
				return string(bytes.Repeat([]byte{'x'}, most+1)), insert(ctx, tx, "too large")
			})
			if !errors.Is(err, semel.ErrFull) || !errors.Is(err, semel.ErrRolledBack) {
				t.Errorf("an outcome that does not fit: got %.200v, want %v and %v", err, semel.ErrFull, semel.ErrRolledBack)
			}
			b.wantRows(t, "as text", "as an argument")
			b.goesOn(t)
		})
	}
}
