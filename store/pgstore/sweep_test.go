package pgstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
)

// Whatever is due but lives on is met once, however much of it there is, and
// what a transaction holds is not waited for.
func TestSweepPassesBy(t *testing.T) {
	t.Parallel()
	const living, expired = 1200, 3
	s := open(t, nil)
	p := pool(t, testserver.Postgres(t), 2)
	table := quoted(s.SchemaName()) + ".record"
	execute(t, p, fill(table, 1, living+expired))
	execute(t, p, fmt.Sprintf("UPDATE %s SET expires_ms = 1::bigint << 60 WHERE fence <= %d", table, living))
	tx, err := p.Begin(t.Context())
	noError(t, err)
	if _, err := tx.Exec(t.Context(), fmt.Sprintf("SELECT FROM %s WHERE fence = %d FOR UPDATE", table, living+1)); err != nil {
		t.Fatal(err)
	}
	sweeps(t, s, 1, 1)
	sweeps(t, s, 10, 1)
	noError(t, tx.Rollback(t.Context()))
	sweeps(t, s, 10, 1)
	var due int
	if err := p.QueryRow(t.Context(), "SELECT count(*) FROM "+table+" WHERE sweep_ms < 1::bigint << 50").Scan(&due); err != nil || due != 0 {
		t.Errorf("%d records that live on are still due, error %v", due, err)
	}
}

// What was released stays absent when the database's clock is set back, and its
// fence is not given again.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	inst := harness(t, testserver.Postgres(t), nil)(t)
	t.Cleanup(func() { inst.Store.Close() })
	s := inst.Store
	rec := wins(t, s, params("k"))
	settles(t, s, rec, semel.Settlement{State: semel.StateReleased})
	inst.Advance(-2 * lease)
	wantGone(t, s, rec.Digest)
	if page, err := s.(semel.Lister).List(t.Context(), semel.ListParams{}); err != nil || len(page.Records) != 0 {
		t.Errorf("got %d records, error %v, want none", len(page.Records), err)
	}
	wantErr(t, "", s.Renew(t.Context(), rec.Digest, rec.Fence, lease), semel.ErrLost)
	settles(t, s, rec, semel.Settlement{State: semel.StateReleased})
	if again := wins(t, s, params("k")); again.Fence <= rec.Fence || again.Attempt != 1 {
		t.Errorf("got fence %d, attempt %d, want a first attempt with a fence > %d", again.Fence, again.Attempt, rec.Fence)
	}
}

// A lease that was made shorter takes the record with it: it is swept when it
// expires, not when the sweep that met it alive put it.
func TestSweepAfterShorterLease(t *testing.T) {
	t.Parallel()
	inst := harness(t, testserver.Postgres(t), nil)(t)
	t.Cleanup(func() { inst.Store.Close() })
	s := inst.Store
	p := params("k")
	p.Lease = 2 * retention
	rec := wins(t, s, p)
	inst.Advance(retention + time.Minute)
	sweeps(t, s.(semel.Sweeper), 10, 0)
	noError(t, s.Renew(t.Context(), rec.Digest, rec.Fence, time.Minute))
	got, err := s.Lookup(t.Context(), rec.Digest)
	noError(t, err)
	inst.Advance(got.ExpiresAt.Sub(got.ReadAt) + time.Second)
	sweeps(t, s.(semel.Sweeper), 10, 1)
}
