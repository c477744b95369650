package sqlitetx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

// bundle is a fresh database with a guard on it.
type bundle struct {
	path  string
	db    *sql.DB
	store *sqlitetx.Store
	guard *semel.Guard
}

func setUp(t *testing.T, settings string, o *semel.Options) *bundle {
	t.Helper()
	b := &bundle{path: filepath.Join(t.TempDir(), "app.db")}
	b.db = database(t, b.path, settings)
	b.store = mustOpen(t, b.db, nil)
	b.guard = guard(t, b.store, o)
	t.Cleanup(func() { verify(t, b.path) })
	return b
}

func (b *bundle) wantRows(t *testing.T, want ...string) {
	t.Helper()
	claimtest.WantRows(t, b.db, "SELECT name FROM rows", want...)
}

func (b *bundle) wantState(t *testing.T, name string, want semel.State) {
	t.Helper()
	claimtest.WantState(t, b.store, b.guard, key(name), want)
}

// do runs fn once for the key; T is a string, as in most tests.
func (b *bundle) do(ctx context.Context, name string, fn func(context.Context, *sql.Tx) (string, error)) (string, error) {
	return sqlitetx.Do(ctx, b.guard, key(name), sameRequest(), fn)
}

// Promises 2 and 4: of 32 callers at once one executes, and all get its answer,
// with any kind of BEGIN in the driver's settings and any journal.
func TestDo(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]string{
		"deferred":         "",
		"immediate":        durable + "&_txlock=immediate",
		"exclusive":        durable + "&_txlock=exclusive",
		"no busy timeout":  "_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)",
		"rollback journal": "_pragma=busy_timeout(50)&_pragma=journal_mode(DELETE)&_pragma=synchronous(FULL)",
		"truncate, extra":  "_pragma=journal_mode(TRUNCATE)&_pragma=synchronous(EXTRA)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setUp(t, settings, nil)
			var ran atomic.Int32
			var wg sync.WaitGroup
			for i := range 32 {
				wg.Go(func() {
					answer, err := b.do(t.Context(), "k", func(ctx context.Context, tx *sql.Tx) (string, error) {
						n := ran.Add(1)
						_, err := tx.ExecContext(ctx, "INSERT INTO rows (name) VALUES ('k')")
						return fmt.Sprint("answer ", n), err
					})
					if err != nil || answer != "answer 1" {
						t.Errorf("got %q, error %v", answer, err)
					}
					// Another intent next to it.
					if _, err := addRow(t.Context(), b.guard, fmt.Sprintf("other %02d", i)); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			b.wantState(t, "k", semel.StateCompleted)
			want := []string{"k"}
			for i := range 32 {
				want = append(want, fmt.Sprintf("other %02d", i))
			}
			b.wantRows(t, want...)
		})
	}
}

var errBusiness = errors.New("no such customer")

// Promise 4: a caller that goes away rolls back, and so does the end of the
// time for the work; work that ignores it does not block other writers.
func TestDoContextEnds(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]semel.Policy{
		"caller": {},
		"time":   {MaxRun: 30 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setUp(t, "", &semel.Options{Policy: policy})
			other, apart := guard(t, b.store, nil), t.Context()
			ctx, cancel := context.WithCancel(apart)
			defer cancel()
			_, err := b.do(ctx, "k", func(ctx context.Context, tx *sql.Tx) (string, error) {
				if _, err := tx.ExecContext(ctx, "INSERT INTO rows (name) VALUES ('k')"); err != nil {
					return "", err
				}
				if policy.MaxRun == 0 {
					cancel()
				}
				<-ctx.Done()
				// Deaf work: others write while it goes on, and it cannot any more.
				if _, err := addRow(apart, other, "other"); err != nil {
					t.Error(err)
				}
				if _, err := tx.ExecContext(context.WithoutCancel(ctx), "INSERT INTO rows (name) VALUES ('late')"); !errors.Is(err, sql.ErrTxDone) {
					t.Errorf("a late statement: got %v, want %v", err, sql.ErrTxDone)
				}
				return "late", nil
			})
			wantErr(t, "", err, semel.ErrRolledBack)
			b.wantRows(t, "other")
			b.wantState(t, "k", semel.StateAbsent)
		})
	}
}

// Promise 4: work that ends the transaction itself commits its rows with the
// claim, never without it.
func TestWorkEndsTheTransaction(t *testing.T) {
	t.Parallel()
	insert := "INSERT INTO rows (name) VALUES ('k')"
	tests := map[string]struct {
		work  func(context.Context, *sql.Tx) error
		err   error
		rows  []string
		state semel.State
	}{
		"Commit":            {work: func(_ context.Context, tx *sql.Tx) error { return tx.Commit() }, rows: []string{"k"}, state: semel.StateCompleted},
		"Commit, then fail": {work: func(_ context.Context, tx *sql.Tx) error { return errors.Join(tx.Commit(), errBusiness) }, err: errBusiness, rows: []string{"k"}, state: semel.StateClaimed},
		"Rollback":          {work: func(_ context.Context, tx *sql.Tx) error { return tx.Rollback() }, err: semel.ErrRolledBack},
		"SQL COMMIT": {work: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "COMMIT")
			return err
		}, rows: []string{"k"}, state: semel.StateCompleted},
		"SQL ROLLBACK, and on": {work: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "ROLLBACK")
			_, late := tx.ExecContext(ctx, insert)
			return errors.Join(err, late)
		}, err: semel.ErrUnknown, rows: []string{"k"}, state: semel.StateUnknown},
		"SQLite rolls back, and on": {work: func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, "INSERT OR ROLLBACK INTO rows (name) VALUES (NULL)"); err == nil {
				return errors.New("NULL was accepted")
			}
			_, late := tx.ExecContext(ctx, insert)
			return late
		}, err: semel.ErrUnknown, rows: []string{"k"}, state: semel.StateUnknown},
		"SQLite rolls back": {work: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT OR ROLLBACK INTO rows (name) VALUES (NULL)")
			return fmt.Errorf("%w: %w", errBusiness, err)
		}, err: errBusiness},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setUp(t, "", &semel.Options{Policy: semel.Policy{Wait: semel.NoWait}})
			answer, err := b.do(t.Context(), "k", func(ctx context.Context, tx *sql.Tx) (string, error) {
				if _, err := tx.ExecContext(ctx, insert); err != nil {
					return "", err
				}
				return "answer", test.work(ctx, tx)
			})
			if !errors.Is(err, test.err) || err == nil && answer != "answer" {
				t.Errorf("got %q, error %v, want %v", answer, err, test.err)
			}
			if test.state == semel.StateUnknown && !strings.Contains(err.Error(), "the record is unknown now") {
				t.Errorf("got %v, want the reason as well", err)
			}
			b.wantRows(t, test.rows...)
			b.wantState(t, "k", test.state)
			if len(test.rows) > 0 { // then nothing silently runs again
				_, _ = b.do(t.Context(), "k", never(t))
			}
			if _, err := addRow(t.Context(), b.guard, "z"); err != nil {
				t.Errorf("the next transaction: %v", err)
			}
		})
	}
}

// An interrupted write ends the transaction of SQLite; the work that returns
// the error has left nothing behind.
func TestInterruptedWrite(t *testing.T) {
	t.Parallel()
	b := setUp(t, "", nil)
	_, err := b.do(t.Context(), "k", func(ctx context.Context, tx *sql.Tx) (string, error) {
		if _, err := tx.ExecContext(ctx, "INSERT INTO rows (name) VALUES ('k')"); err != nil {
			return "", err
		}
		short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		_, err := tx.ExecContext(short, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
			INSERT INTO rows (name) SELECT 'endless' FROM n`)
		return "", err
	})
	wantErr(t, "", err, context.DeadlineExceeded)
	b.wantRows(t)
	b.wantState(t, "k", semel.StateAbsent)
	if _, err := addRow(t.Context(), b.guard, "k"); err != nil {
		t.Error(err)
	}
}

// A guard of another store is refused.
func TestDoNeedsTheStore(t *testing.T) {
	t.Parallel()
	g := guard(t, memstore.New(nil), nil)
	if _, err := sqlitetx.Do(t.Context(), g, key("k"), sameRequest(), never(t)); err == nil {
		t.Error("Do went on without its store")
	}
	if _, err := sqlitetx.Join(t.Context(), g, nil, key("k"), sameRequest(), func(context.Context) (string, error) {
		t.Error("it was executed")
		return "", nil
	}); err == nil {
		t.Error("Join went on without its store")
	}
}
