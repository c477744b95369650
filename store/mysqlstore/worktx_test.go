package mysqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/mysqlstore"
)

// ending is work that ends its transaction, and what comes of it. It runs after
// the row k was inserted.
type ending struct {
	sql  []string // statements of the work
	late string   // a row that it inserts after them
	fail error    // its end
	// work is in the place of those.
	work func(ctx context.Context, b *txBundle, tx *sql.Tx) error
	// ours and others: on connections of the package and on other ones.
	ours, others result
}

func (e *ending) run(ctx context.Context, b *txBundle, tx *sql.Tx) (err error) {
	if e.work != nil {
		return e.work(ctx, b, tx)
	}
	for _, statement := range e.sql {
		err = errors.Join(err, run(ctx, tx, statement))
	}
	if e.late != "" {
		err = errors.Join(err, insert(ctx, tx, e.late))
	}
	return errors.Join(err, e.fail)
}

type result struct {
	err   error
	rows  []string
	state semel.State
}

func run(ctx context.Context, in mysqlstore.Execer, statement string) error {
	_, err := in.ExecContext(ctx, statement)
	return err
}

func endings() map[string]ending {
	nothing := result{err: semel.ErrRolledBack}
	unknown := result{err: semel.ErrUnknown, rows: []string{"k"}, state: semel.StateUnknown}
	lost := result{err: semel.ErrUnknown, state: semel.StateUnknown}
	done := result{rows: []string{"k"}, state: semel.StateCompleted}
	late := result{rows: []string{"k", "late"}, state: semel.StateCompleted}
	claimed := result{err: errBusiness, rows: []string{"k"}, state: semel.StateClaimed}
	return map[string]ending{
		"Commit": {
			work: func(_ context.Context, _ *txBundle, tx *sql.Tx) error { _ = tx.Commit(); return nil },
			ours: nothing, others: done,
		},
		"Commit, then fail": {
			work: func(_ context.Context, _ *txBundle, tx *sql.Tx) error { _ = tx.Commit(); return errBusiness },
			ours: result{err: errBusiness}, others: claimed,
		},
		"Rollback": {
			work: func(_ context.Context, _ *txBundle, tx *sql.Tx) error { return tx.Rollback() },
			ours: nothing, others: nothing,
		},
		"COMMIT in SQL":                 {sql: []string{"COMMIT"}, ours: unknown, others: done},
		"COMMIT in SQL, and on":         {sql: []string{"COMMIT"}, late: "late", ours: unknown, others: late},
		"the record is deleted":         {sql: []string{"DELETE FROM semel_record"}, ours: unknown, others: lost},
		"a table is created":            {sql: []string{"CREATE TABLE other (n INT)"}, late: "late", ours: unknown, others: late},
		"a table is created, then fail": {sql: []string{"CREATE TABLE other (n INT)"}, fail: errBusiness, ours: claimed, others: claimed},
		"a temporary table is created": {
			sql:  []string{"CREATE TEMPORARY TABLE other (n INT)", "DROP TEMPORARY TABLE other"},
			ours: done, others: done,
		},
		"ROLLBACK in SQL":         {sql: []string{"ROLLBACK"}, ours: nothing, others: lost},
		"ROLLBACK in SQL, and on": {sql: []string{"ROLLBACK"}, late: "k", ours: nothing, others: unknown},
		"a deadlock, and on": {
			work: func(ctx context.Context, b *txBundle, tx *sql.Tx) error {
				if err := deadlock(ctx, b, tx); err == nil {
					return errors.New("the deadlock did not happen")
				}
				return insert(ctx, tx, "k")
			},
			ours: nothing, others: unknown,
		},
		"autocommit, and on": {
			sql: []string{"SET autocommit = 1"}, late: "late",
			ours:   result{err: semel.ErrUnknown, rows: []string{"k", "late"}, state: semel.StateUnknown},
			others: late, // nothing changes there: it is on already
		},
		"another transaction": {
			sql: []string{"START TRANSACTION"}, late: "late",
			ours: unknown, others: late, // the commit is that of the other transaction
		},
		"a savepoint of its own": {
			sql:  []string{"SAVEPOINT a", "INSERT INTO business (name) VALUES ('undone')", "ROLLBACK TO SAVEPOINT a"},
			ours: done, others: done,
		},
	}
}

// deadlock makes the server choose tx as the victim of a deadlock.
func deadlock(ctx context.Context, b *txBundle, tx *sql.Tx) error {
	if err := run(ctx, b.db, "INSERT IGNORE INTO business (n, name) VALUES (1001, 'first'), (1002, 'second')"); err != nil {
		return err
	}
	defer func() { _ = run(ctx, b.db, "DELETE FROM business WHERE n > 1000") }()
	other, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return nil
	}
	defer func() { _ = other.Rollback() }()
	// The heavier one goes on.
	for range 20 {
		if err := insert(ctx, other, "heavy"); err != nil {
			return nil
		}
	}
	if run(ctx, tx, "UPDATE business SET name = 'x' WHERE n = 1001") != nil || run(ctx, other, "UPDATE business SET name = 'x' WHERE n = 1002") != nil {
		return nil
	}
	waits := make(chan error, 1)
	go func() { waits <- run(ctx, other, "UPDATE business SET name = 'x' WHERE n = 1001") }()
	err = run(ctx, tx, "UPDATE business SET name = 'y' WHERE n = 1002")
	return errors.Join(err, <-waits)
}

// Promise 4: whatever work does to its transaction, rows are committed with
// the record, or the record says that it is unknown.
func TestWorkEndsTheTransaction(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, d door) {
		t.Helper()
		for name, test := range endings() {
			t.Run(name, func(t *testing.T) {
				b := setUpTx(t, d, &semel.Options{Policy: semel.Policy{Wait: semel.NoWait}})
				want := test.others
				if b.store.Ours() {
					want = test.ours
				}
				_, err := b.do(t.Context(), "k", func(ctx context.Context, tx *sql.Tx) (string, error) {
					if err := insert(ctx, tx, "k"); err != nil {
						return "", err
					}
					return "answer", test.run(ctx, b, tx)
				})
				wantErr(t, "", err, want.err)
				if errors.Is(want.err, semel.ErrUnknown) && !strings.Contains(err.Error(), "the record is unknown now") {
					t.Errorf("got %v, want the reason as well", err)
				}
				b.wantRows(t, want.rows...)
				b.wantState(t, "k", want.state)
				if want.state != semel.StateAbsent { // then nothing runs again unnoticed
					_, _ = b.do(t.Context(), "k", never(t))
				}
				if d.pool != nil {
					idle(t, b.store.DB())
				}
				b.goesOn(t)
			})
		}
	})
}

// A transaction that the server undid because of another one runs again.
func TestDeadlockRunsAgain(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, d door) {
		t.Helper()
		b := setUpTx(t, d, nil)
		ran := 0
		answer, err := b.do(t.Context(), "k", func(ctx context.Context, tx *sql.Tx) (string, error) {
			ran++
			if err := insert(ctx, tx, "k"); err != nil {
				return "", err
			}
			if ran == 1 {
				return "", deadlock(ctx, b, tx)
			}
			return "answer", nil
		})
		if err != nil || answer != "answer" || ran != 2 {
			t.Errorf("got %q, error %v after %d runs", answer, err, ran)
		}
		b.wantRows(t, "k")
	})
}

// Conflict knows the server's errors through whatever is around them.
func TestConflict(t *testing.T) {
	t.Parallel()
	b := setUpTx(t, door{}, nil)
	tx, err := b.store.Transactor(nil).Transaction(t.Context())
	noError(t, err)
	for number, want := range map[uint16]bool{1213: true, 1205: true, 1020: true, 3101: true, 1062: false, 1064: false, 1317: false} {
		bare := &mysql.MySQLError{Number: number, Message: "said the server"}
		for _, err := range []error{bare, wrapped{bare}, errors.Join(errBusiness, wrapped{bare})} {
			if got := tx.Conflict(err); got != want {
				t.Errorf("%d as %T: got %v, want %v", number, err, got, want)
			}
		}
	}
}

type wrapped struct{ err error }

func (w wrapped) Error() string { return strings.ToUpper(w.err.Error()) }
func (w wrapped) Unwrap() error { return w.err }

// Work that changes the database in use takes no claim there, neither its own
// nor those that follow on the connection.
func TestWorkChangesTheDatabase(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, d door) {
		t.Helper()
		b := setUpTx(t, d, nil)
		for i := range 2 * txConns {
			name := "k" + strconv.Itoa(i)
			got, err := b.do(t.Context(), name, func(ctx context.Context, tx *sql.Tx) (string, error) {
				return name, run(ctx, tx, "USE information_schema")
			})
			if err != nil || got != name {
				t.Errorf("%s: got %q, error %v", name, got, err)
			}
			b.wantState(t, name, semel.StateCompleted)
		}
	})
}
