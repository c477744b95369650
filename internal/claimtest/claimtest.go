// Package claimtest holds what the tests of several stores need besides the
// rules of storetest: claims that must be won, errors that must give advice, a
// clock moved by hand, and what a database holds. Only tests import it.
package claimtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
)

// Lease and Retention are those of [Params] and [Completed].
const (
	Lease     = time.Hour
	Retention = 24 * time.Hour
)

// Params are good parameters of a claim.
func Params(name string) semel.ClaimParams {
	key := semel.Key{Scope: "alice", Name: name}
	return semel.ClaimParams{
		Digest: key.Digest(), Scope: key.Scope, Name: key.Name, Fingerprint: semel.FingerprintOf(name),
		Owner: semel.Owner{1}, Lease: Lease, Retention: Retention,
	}
}

// By are the same parameters in the hands of another attempt.
func By(who byte, p semel.ClaimParams) semel.ClaimParams {
	p.Owner = semel.Owner{who}
	return p
}

// Completed is a settlement with an outcome that is kept.
func Completed(outcome string) semel.Settlement {
	return semel.Settlement{State: semel.StateCompleted, Outcome: []byte(outcome), Kept: true, Retention: Retention}
}

// NoError ends the test unless err is nil. Only the test's own goroutine may
// call it, and what follows.
func NoError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// Wins claims, and must win.
func Wins(tb testing.TB, s semel.Store, p semel.ClaimParams) semel.Record {
	tb.Helper()
	rec, won, err := s.Claim(tb.Context(), p)
	if err != nil || !won {
		tb.Fatalf("claim of %q: won %v, %v, error %v, want to win", p.Name, won, rec.State, err)
	}
	return rec
}

// Settles settles, and must succeed.
func Settles(tb testing.TB, s semel.Store, rec semel.Record, to semel.Settlement) {
	tb.Helper()
	if err := s.Settle(tb.Context(), rec.Digest, rec.Fence, to); err != nil {
		tb.Fatalf("settle %q: %v", rec.Name, err)
	}
}

// WantState fails the test unless the record is in that state; absent is one.
func WantState(tb testing.TB, s semel.Store, g *semel.Guard, k semel.Key, want semel.State) {
	tb.Helper()
	rec, err := s.Lookup(context.WithoutCancel(tb.Context()), g.Digest(k))
	if err != nil && !errors.Is(err, semel.ErrNotFound) || rec.State != want {
		tb.Errorf("the record of %s is %v, error %v, want %v", k.Name, rec.State, err, want)
	}
}

// WantErr fails the test unless err wraps want. what names the row, if any.
func WantErr(tb testing.TB, what string, err, want error) {
	tb.Helper()
	if !errors.Is(err, want) {
		tb.Errorf("%sgot %v, want %v", what, err, want)
	}
}

// WantFound fails the test unless the record is in that state.
func WantFound(tb testing.TB, s semel.Store, d semel.Digest, want semel.State) {
	tb.Helper()
	if rec, err := s.Lookup(tb.Context(), d); err != nil || rec.State != want {
		tb.Errorf("look up %v: got %v, error %v, want %v", d, rec.State, err, want)
	}
}

// WantGone fails the test unless the record is absent.
func WantGone(tb testing.TB, s semel.Store, d semel.Digest) {
	tb.Helper()
	_, err := s.Lookup(tb.Context(), d)
	WantErr(tb, fmt.Sprintf("look up %v: ", d), err, semel.ErrNotFound)
}

// Lists fails the test unless the store lists so many records.
func Lists(tb testing.TB, s semel.Lister, want int) {
	tb.Helper()
	if page, err := s.List(tb.Context(), semel.ListParams{}); err != nil || len(page.Records) != want {
		tb.Errorf("got %d records, error %v, want %d", len(page.Records), err, want)
	}
}

// Sweeps fails the test unless a sweep removes so many records.
func Sweeps(tb testing.TB, s semel.Sweeper, limit, want int) {
	tb.Helper()
	if n, err := s.Sweep(tb.Context(), limit); err != nil || n != want {
		tb.Errorf("swept %d, error %v, want %d", n, err, want)
	}
}

// Words fails the test unless the error has the words that an operator needs,
// and no password of the tests.
func Words(tb testing.TB, err error, words ...string) {
	tb.Helper()
	if err == nil {
		tb.Fatalf("got no error, want one with %q", words)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			tb.Errorf("got %q, want %q in it", err, word)
		}
	}
	for _, secret := range []string{"sesame", "s3cr3t"} {
		if strings.Contains(err.Error(), secret) || strings.Contains(fmt.Sprintf("%+v", err), secret) {
			tb.Errorf("%q shows the password", err)
		}
	}
}

// Closes closes a store or a pool at the end of the test, without an error.
func Closes(tb testing.TB, c io.Closer) {
	tb.Helper()
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
}

// Guard makes a guard that never sweeps on its own, and closes it at the end of
// the test. o may be nil.
func Guard(tb testing.TB, s semel.Store, o *semel.Options) *semel.Guard {
	tb.Helper()
	full := semel.Options{}
	if o != nil {
		full = *o
	}
	full.SweepEvery = -1
	g, err := semel.New(s, &full)
	NoError(tb, err)
	tb.Cleanup(func() {
		if err := g.Close(); err != nil && !errors.Is(err, context.Canceled) {
			tb.Error(err)
		}
	})
	return g
}

// Clock moves when told; one that runs moves with the host's clock as well. The
// zero value begins at a fixed time.
type Clock struct {
	Runs bool

	ahead atomic.Int64
}

// Now is the time by the clock.
func (c *Clock) Now() time.Time {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	if c.Runs {
		now = time.Now()
	}
	return now.Add(time.Duration(c.ahead.Load()))
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) { c.ahead.Add(int64(d)) }

// Golden compares the schema of what was made with testdata/schema.golden, or writes that where
// SEMEL_UPDATE_GOLDEN is set.
func Golden(tb testing.TB, what, got string) {
	tb.Helper()
	golden := filepath.Join("testdata", "schema.golden")
	if os.Getenv("SEMEL_UPDATE_GOLDEN") != "" {
		NoError(tb, os.WriteFile(golden, []byte(got), 0o600))
	}
	want, err := os.ReadFile(golden) //nolint:gosec // a file of the test.
	NoError(tb, err)
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
		tb.Errorf("%s: schema (-want +got):\n%s", what, diff)
	}
}
