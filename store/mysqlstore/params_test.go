package mysqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/mysqlstore"
)

const lease, retention = claimtest.Lease, claimtest.Retention

var (
	params, by, completed, wins         = claimtest.Params, claimtest.By, claimtest.Completed, claimtest.Wins
	settles, noError, closes, wantWords = claimtest.Settles, claimtest.NoError, claimtest.Closes, claimtest.Words
	begin, never                        = claimtest.Begin, claimtest.Never
	lists, sweeps, wantFound            = claimtest.Lists, claimtest.Sweeps, claimtest.WantFound
	wantErr                             = claimtest.WantErr
)

// open opens a store by DSN, and closes it after the test.
func open(tb testing.TB, dsn string, o *mysqlstore.Options) *mysqlstore.Store {
	tb.Helper()
	full := mysqlstore.Options{MaxConns: testConns}
	if o != nil {
		full = *o
	}
	s, err := mysqlstore.Open(tb.Context(), dsn, &full)
	noError(tb, err)
	closes(tb, s)
	return s
}

// ticking opens a store over a pool of one test's own database, whose clock
// the test moves.
func ticking(tb testing.TB, params string, with func(*mysqlstore.Options) *mysqlstore.Options) (s *mysqlstore.Store, db *sql.DB, advance func(time.Duration)) {
	tb.Helper()
	b := newBench(tb, params, with)
	inst := b.instance(tb)
	s, ok := inst.Store.(*mysqlstore.Store)
	if !ok {
		tb.Fatalf("got a %T", inst.Store)
	}
	tb.Cleanup(func() {
		inst.Check(tb)
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s, b.admin, inst.Advance
}

// value is the one value that a query finds.
func value(tb testing.TB, db *sql.DB, query string, args ...any) string {
	tb.Helper()
	var v any
	if err := db.QueryRowContext(context.WithoutCancel(tb.Context()), query, args...).Scan(&v); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}
