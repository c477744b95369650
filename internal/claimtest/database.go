package claimtest

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
)

// Begin begins a transaction as an application does.
func Begin(tb testing.TB, db *sql.DB) *sql.Tx {
	tb.Helper()
	tx, err := db.BeginTx(tb.Context(), nil)
	NoError(tb, err)
	tb.Cleanup(func() { _ = tx.Rollback() }) // of a test that failed
	return tx
}

// Query returns what a query finds, one row a line.
func Query(tb testing.TB, db *sql.DB, query string, args ...any) string {
	tb.Helper()
	rows, err := db.QueryContext(tb.Context(), query, args...)
	NoError(tb, err)
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	NoError(tb, err)
	var out strings.Builder
	for rows.Next() {
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		NoError(tb, rows.Scan(into...))
		for i, v := range values {
			if i > 0 {
				out.WriteByte('|')
			}
			out.WriteString(v.String)
		}
		out.WriteByte('\n')
	}
	NoError(tb, rows.Err())
	return out.String()
}

// WantRows fails the test unless a query of one column finds these rows, in
// whatever order.
func WantRows(tb testing.TB, db *sql.DB, query string, want ...string) {
	tb.Helper()
	got := strings.Split(strings.TrimSuffix(Query(tb, db, query), "\n"), "\n")
	if got[0] == "" {
		got = nil
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("rows (-want +got):\n%s", diff)
	}
}

// Never is work that must not run.
func Never(tb testing.TB) func(context.Context, *sql.Tx) (string, error) {
	tb.Helper()
	return func(context.Context, *sql.Tx) (string, error) {
		tb.Error("it was executed again")
		return "", nil
	}
}

// Owned is a store that closes its database.
type Owned struct {
	semel.Store
	DB *sql.DB
}

// Unwrap follows the convention of [semel.StoreAs].
func (o *Owned) Unwrap() semel.Store { return o.Store }

// Close closes the store, then the database.
func (o *Owned) Close() error { return errors.Join(o.Store.Close(), o.DB.Close()) }
