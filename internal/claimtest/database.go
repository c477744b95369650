package claimtest

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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

// Statements checks that each file of sql/ is either a statement whose plan a test reads, or listed as one that has none.
func Statements(tb testing.TB, planned map[string]string, unplanned []string) {
	tb.Helper()
	files, err := filepath.Glob("sql/*.sql")
	if err != nil || len(files) == 0 {
		tb.Fatalf("found %d statements, error %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sql")
		if _, ok := planned[name]; ok == slices.Contains(unplanned, name) {
			tb.Errorf("%s: its plan is read (%v), or it has none (%v): want exactly one", name, ok, !ok)
		}
	}
}

// AfterAll wraps the calls: when all of them have returned, end runs, and the channel that it returns is closed. So a test gives
// back what one more call waits for only after the calls that share a transaction with it no longer wait for it.
func AfterAll[F ~func(context.Context) (V, error), V any](tb testing.TB, calls []F, end func() error) <-chan struct{} {
	tb.Helper()
	var others sync.WaitGroup
	others.Add(len(calls))
	for i, call := range calls {
		calls[i] = func(ctx context.Context) (V, error) {
			defer others.Done()
			return call(ctx)
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		others.Wait()
		if err := end(); err != nil {
			tb.Error(err)
		}
	}()
	return ended
}

// Refused reports whether a store says of an error that waiting does not help. A guard does not go on repeating such a claim.
func Refused(err error) bool {
	_, refused := errors.AsType[interface {
		error
		Refused()
	}](err)
	return refused
}
