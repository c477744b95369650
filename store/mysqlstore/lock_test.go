package mysqlstore_test

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/mysqlstore"
)

// insertRaw is an insertion as a transaction of another program makes it.
const insertRaw = `INSERT INTO semel_record (fence, digest, state, kept, attempt, owner, fingerprint,
claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms, scope, name, note)
VALUES (?, ?, 'claimed', 0, 1, REPEAT('o', 16), REPEAT('f', 32), 0, 0, 0, 9e12, 9e12, '', '', '')`

// held begins a transaction that holds the lock of a digest.
func held(t *testing.T, db *sql.DB, d semel.Digest) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	noError(t, err)
	if _, err := tx.ExecContext(t.Context(), insertRaw, nil, d[:]); err != nil {
		t.Fatal(err)
	}
	return tx
}

// waiters waits until so many statements wait for a lock in the database. It
// reads the monitor, because the table of transactions is a copy that is not
// renewed while it is read often.
func waiters(t *testing.T, db *sql.DB, n int) {
	t.Helper()
	table := "of table `" + value(t, db, "SELECT DATABASE()") + "`.`"
	for {
		var kind, name, status string
		noError(t, db.QueryRowContext(t.Context(), "SHOW ENGINE INNODB STATUS").Scan(&kind, &name, &status))
		waiting := 0
		for line := range strings.Lines(status) {
			if strings.Contains(line, table) && strings.HasSuffix(strings.TrimSpace(line), " waiting") {
				waiting++
			}
		}
		if waiting >= n {
			return
		}
		pause(t.Context(), 5*time.Millisecond)
	}
}

// A holder that rolls back while many wait makes the server undo all of them
// but one as deadlocks: no caller notices, and one wins (promise 1).
func TestRollbackWithWaiters(t *testing.T) {
	t.Parallel()
	dsn := testserver.MySQLDatabase(t)
	s := open(t, dsn, nil)
	db := quietPool(t, dsn)
	for round := range 5 {
		p := params(string(rune('a' + round)))
		tx := held(t, db, p.Digest)
		const claimers = 6
		wons := make([]bool, claimers)
		recs := make([]semel.Record, claimers)
		var wg sync.WaitGroup
		for i := range claimers {
			wg.Go(func() {
				var err error
				recs[i], wons[i], err = s.Claim(t.Context(), by(byte(i+1), p))
				if err != nil {
					t.Error(err)
				}
			})
		}
		waiters(t, db, claimers)
		noError(t, tx.Rollback())
		wg.Wait()
		winners := 0
		for i := range claimers {
			if wons[i] {
				winners++
			}
			if recs[i].Fence != recs[0].Fence {
				t.Errorf("two claimers were shown fences %d and %d", recs[0].Fence, recs[i].Fence)
			}
		}
		if winners != 1 {
			t.Errorf("%d of %d won, want 1", winners, claimers)
		}
	}
}

// A claim that waits for a lock ends with its context, with an error that
// decides nothing. The statement that is left behind in the server may still
// take the digest, for the same attempt.
func TestLockedForLong(t *testing.T) {
	t.Parallel()
	dsn := testserver.MySQLDatabase(t)
	s := open(t, dsn, nil)
	db := quietPool(t, dsn)
	p := params("k")
	tx := held(t, db, p.Digest)
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error)
	go func() {
		_, _, err := s.Claim(ctx, p)
		answered <- err
	}()
	waiters(t, db, 1)
	cancel()
	wantErr(t, "", <-answered, context.Canceled)
	go func() {
		_, _, err := s.Claim(t.Context(), p)
		answered <- err
	}()
	waiters(t, db, 1)
	noError(t, tx.Rollback())
	noError(t, <-answered)
	// Either claim may be the one that is kept: both are the same attempt.
	wins(t, s, p)
}

// Promise 9: a claim judges a lapse by the time at which it has the lock, not
// by that at which it began to wait.
func TestLapseWhileWaiting(t *testing.T) {
	t.Parallel()
	s, db, advance := ticking(t, fast, nil)
	rec := wins(t, s, params("k"))
	advance(lease - time.Minute)
	p := by(2, params("k"))
	p.TakeOver = rec.Fence
	if _, won, err := s.Claim(t.Context(), p); err != nil || won {
		t.Fatalf("before the lease ended: won %v, error %v", won, err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	noError(t, err)
	var fence int64
	noError(t, tx.QueryRowContext(t.Context(), "SELECT fence FROM s1_record WHERE digest = ? FOR UPDATE", rec.Digest[:]).Scan(&fence))
	// The lease ends, and the row is renewed, while the takeover waits.
	advance(time.Hour)
	type answer struct {
		rec semel.Record
		won bool
		err error
	}
	answered := make(chan answer)
	go func() {
		rec, won, err := s.Claim(t.Context(), p)
		answered <- answer{rec, won, err}
	}()
	waiters(t, db, 1)
	if _, err := tx.ExecContext(t.Context(), "UPDATE s1_record SET lease_until_ms = lease_until_ms + 7200000, expires_ms = expires_ms + 7200000"); err != nil {
		t.Fatal(err)
	}
	noError(t, tx.Commit())
	if a := <-answered; a.err != nil || a.won || a.rec.Lapsed() {
		t.Errorf("a renewed claim was taken over: won %v, lapsed %v, error %v", a.won, a.rec.Lapsed(), a.err)
	}
	advance(2 * time.Hour)
	wins(t, s, p)
}

// Promise 1: fences of one digest grow, even when a statement that was given
// a fence is held up, and inserts only after others have claimed the digest
// with greater fences and released it, or after it expired: it finds a row.
func TestFencesOfOneDigestGrow(t *testing.T) {
	t.Parallel()
	s, db, advance := ticking(t, fast, nil)
	released, expired := wins(t, s, params("released")), wins(t, s, params("expired"))
	settles(t, s, released, semel.Settlement{State: semel.StateReleased})
	short := completed("x")
	short.Retention = time.Second
	settles(t, s, expired, short)
	advance(time.Minute)
	sweeps(t, s, 100, 0)
	stalled := func(rec semel.Record, wantRow bool) {
		t.Helper()
		tx, err := db.BeginTx(t.Context(), nil)
		noError(t, err)
		defer func() { _ = tx.Rollback() }()
		_, err = tx.ExecContext(t.Context(), "INSERT INTO s1_record (fence"+insertRaw[len("INSERT INTO semel_record (fence"):], 1_000_000, rec.Digest[:])
		if (err != nil) != wantRow {
			t.Errorf("%s: the held-up insertion: error %v, want it to find a row: %v", rec.Name, err, wantRow)
		}
	}
	stalled(released, true)
	stalled(expired, true)
	for _, p := range []semel.ClaimParams{params("released"), params("expired")} {
		again := wins(t, s, p)
		if again.Fence <= expired.Fence || again.Attempt != 1 {
			t.Errorf("%s: got fence %d, attempt %d, want a greater fence and a first attempt", p.Name, again.Fence, again.Attempt)
		}
		settles(t, s, again, semel.Settlement{State: semel.StateReleased})
		stalled(again, true)
	}
	advance(5 * time.Minute)
	sweeps(t, s, 100, 2)
	stalled(released, false)
}

// A store works through a pool of one connection: no step needs a second one
// while it holds the first.
func TestOneConnection(t *testing.T) {
	t.Parallel()
	for name, with := range map[string]func(*mysqlstore.Options) *mysqlstore.Options{
		"returning": nil, "together": mysqlstore.WithoutReturning, "one by one": mysqlstore.WithoutTogether,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &mysqlstore.Options{}
			if with != nil {
				o = with(o)
			}
			o.MaxConns = 1
			s := open(t, testserver.MySQLDatabase(t), o)
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					for range 5 {
						rec, won, err := s.Claim(t.Context(), by(byte(i+1), params("k")))
						if err == nil && won {
							err = s.Settle(t.Context(), rec.Digest, rec.Fence, semel.Settlement{State: semel.StateReleased})
						}
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if _, err := s.Sweep(t.Context(), 10); err != nil {
				t.Error(err)
			}
			if _, err := s.List(t.Context(), semel.ListParams{}); err != nil {
				t.Error(err)
			}
		})
	}
}
