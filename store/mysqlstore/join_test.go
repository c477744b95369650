package mysqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/mysqlstore"
)

// handles show one transaction in the ways that libraries do.
func handles(tx *sql.Tx) []mysqlstore.Execer {
	return []mysqlstore.Execer{tx, embedding{tx}, &narrow{tx}, stateful{Execer: tx, hooks: []string{"not comparable"}}}
}

// embedding is that of sqlx.
type embedding struct{ *sql.Tx }

// narrow is that of sqlc.
type narrow struct{ mysqlstore.Execer }

// stateful is that of a library with state of its own.
type stateful struct {
	mysqlstore.Execer

	hooks []string
}

// A handle without a transaction would commit one by one, and is refused.
func TestJoinNeedsATransaction(t *testing.T) {
	t.Parallel()
	b := setUpTx(t, door{pool: quietPool}, nil)
	conn, err := b.db.Conn(t.Context())
	noError(t, err)
	defer conn.Close()
	join := func(handle mysqlstore.Execer) error {
		_, err := mysqlstore.Join(t.Context(), b.guard, handle, key("k"), asked(), func(ctx context.Context) (string, error) {
			return "answer", insert(ctx, handle, "k")
		})
		return err
	}
	for name, handle := range map[string]mysqlstore.Execer{"a pool": b.db, "a pool in disguise": &narrow{b.db}, "a connection": conn, "nothing": nil} {
		if err := join(handle); err == nil || !strings.Contains(err.Error(), "begin one") {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
	}
	b.wantRows(t)
	b.wantState(t, "k", semel.StateAbsent)
	// With a transaction begun by hand, it is none the less.
	noError(t, errors.Join(run(t.Context(), conn, "START TRANSACTION"), join(conn), run(t.Context(), conn, "COMMIT")))
	b.wantRows(t, "k")
	b.wantState(t, "k", semel.StateCompleted)
}

// A deadlock in the caller's transaction is the caller's: nothing runs again
// in a transaction that has ended.
func TestJoinDeadlock(t *testing.T) {
	t.Parallel()
	b := setUpTx(t, door{pool: quietPool}, nil)
	tx := begin(t, b.db)
	ran := 0
	_, err := mysqlstore.Join(t.Context(), b.guard, tx, key("k"), asked(), func(ctx context.Context) (string, error) {
		ran++
		return "answer", errors.Join(insert(ctx, tx, "k"), deadlock(ctx, b, tx))
	})
	if err == nil || !strings.Contains(err.Error(), "Error 1213") || ran != 1 {
		t.Errorf("got %v after %d runs, want the deadlock after one", err, ran)
	}
	noError(t, tx.Rollback())
	b.wantRows(t)
	b.wantState(t, "k", semel.StateAbsent)
}

// With innodb_snapshot_isolation, a transaction whose snapshot is older than the
// first one's commit is ended by the server, and the caller gets its error; in a
// new transaction it gets the answer. Nothing runs twice.
func TestJoinInASnapshot(t *testing.T) {
	t.Parallel()
	b := setUpTx(t, door{}, nil)
	db := pool(t, b.dsn, snapshots)
	tx := begin(t, db)
	defer tx.Rollback() // the server has ended it
	var n int
	if err := tx.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM business").Scan(&n); err != nil { // it takes the snapshot
		t.Fatal(err)
	}
	if _, err := b.do(t.Context(), "k", add("k")); err != nil {
		t.Fatal(err)
	}
	join := func(tx *sql.Tx) (string, error) {
		return mysqlstore.Join(t.Context(), b.guard, tx, key("k"), asked(), func(ctx context.Context) (string, error) {
			return never(t)(ctx, tx)
		})
	}
	_, err := join(tx)
	wantWords(t, err, "Error 1020")
	again := begin(t, db)
	if answer, err := join(again); err != nil || answer != "answer k" {
		t.Errorf("a new transaction: got %q, error %v, want the answer", answer, err)
	}
	noError(t, again.Rollback())
	b.wantRows(t, "k")
}

// Inside of Do, with its *sql.Tx, Join is a part of that.
func TestJoinInsideOfDo(t *testing.T) {
	t.Parallel()
	b := setUpTx(t, door{}, nil)
	_, err := b.do(t.Context(), "outer", func(ctx context.Context, tx *sql.Tx) (string, error) {
		_, err := mysqlstore.Join(ctx, b.guard, tx, key("unknown"), asked(), func(context.Context) (string, error) {
			return "", semel.MarkUnknown(errBusiness)
		})
		if !errors.Is(err, errBusiness) {
			t.Error(err)
		}
		_, err = mysqlstore.Join(ctx, b.guard, narrow{tx}, key("other"), asked(), func(ctx context.Context) (string, error) {
			_, err := b.do(ctx, "deep", never(t))
			if err == nil || !strings.Contains(err.Error(), "use Join") {
				t.Errorf("Do inside of a transaction joined by another handle: got %v", err)
			}
			return "", nil
		})
		return "", errors.Join(errBusiness, err)
	})
	if !errors.Is(err, errBusiness) {
		t.Error(err)
	}
	b.wantState(t, "unknown", semel.StateUnknown)
	b.wantState(t, "other", semel.StateAbsent)
}
