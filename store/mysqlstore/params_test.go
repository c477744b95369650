package mysqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/mysqlstore"
)

const (
	lease     = time.Hour
	retention = 24 * time.Hour
)

// params are good parameters of a claim.
func params(name string) semel.ClaimParams {
	key := semel.Key{Scope: "mysqlstore", Name: name}
	return semel.ClaimParams{
		Digest: key.Digest(), Scope: key.Scope, Name: key.Name, Fingerprint: semel.FingerprintOf(name),
		Owner: semel.Owner{1}, Lease: lease, Retention: retention,
	}
}

// by are the same parameters in the hands of another attempt.
func by(who byte, p semel.ClaimParams) semel.ClaimParams {
	p.Owner = semel.Owner{who}
	return p
}

func completed(outcome string) semel.Settlement {
	return semel.Settlement{State: semel.StateCompleted, Outcome: []byte(outcome), Kept: true, Retention: retention}
}

// wins claims, and must win.
func wins(tb testing.TB, s semel.Store, p semel.ClaimParams) semel.Record {
	tb.Helper()
	rec, won, err := s.Claim(tb.Context(), p)
	if err != nil || !won {
		tb.Fatalf("claim %q: won %v, %v, error %v, want to win", p.Name, won, rec.State, err)
	}
	return rec
}

func settles(tb testing.TB, s semel.Store, rec semel.Record, to semel.Settlement) {
	tb.Helper()
	if err := s.Settle(tb.Context(), rec.Digest, rec.Fence, to); err != nil {
		tb.Fatalf("settle %q: %v", rec.Name, err)
	}
}

// open opens a store by DSN, and closes it after the test.
func open(tb testing.TB, dsn string, o *mysqlstore.Options) *mysqlstore.Store {
	tb.Helper()
	full := mysqlstore.Options{MaxConns: testConns}
	if o != nil {
		full = *o
	}
	s, err := mysqlstore.Open(tb.Context(), dsn, &full)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
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
