package mysqlstore_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/mysqlstore"
)

// claimAll claims n intents in batches.
func claimAll(t *testing.T, s *mysqlstore.Store, prefix string, n int) []semel.Record {
	t.Helper()
	answers, _, err := s.Batch(t.Context(), batchOf(prefix, n), nil)
	noError(t, err)
	recs := make([]semel.Record, n)
	for i, a := range answers {
		if a.Err != nil || !a.Won {
			t.Fatalf("claim %d: won %v, error %v", i, a.Won, a.Err)
		}
		recs[i] = a.Record
	}
	return recs
}

// A sweep is not held up by records that were due but live on, however many
// there are and however small its steps.
func TestSweepPassesTheLiving(t *testing.T) {
	t.Parallel()
	s, db, advance := ticking(t, fast, nil)
	const living, dead = 150, 5
	recs := claimAll(t, s, "k", living+dead)
	advance(lease)
	for _, rec := range recs[:living] {
		noError(t, s.Renew(t.Context(), rec.Digest, rec.Fence, lease))
	}
	advance(retention)
	for want := dead; want > 0; want-- {
		sweeps(t, s, 1, 1)
	}
	sweeps(t, s, 1000, 0)
	if n := value(t, db, "SELECT COUNT(*) FROM s1_record WHERE sweep_ms < expires_ms"); n != "0" {
		t.Errorf("%s rows would be looked at again before their time, want none", n)
	}
	advance(lease)
	sweeps(t, s, 1000, living)
}

// A sweep locks nothing but the rows it removes.
func TestSweepBesideClaims(t *testing.T) {
	t.Parallel()
	s, db, advance := ticking(t, fast, nil)
	dead := claimAll(t, s, "dead", 100)
	advance(lease + retention)
	live := wins(t, s, params("live"))
	// A transaction holds an expired row: the others are removed only when it is
	// free, but no other caller waits.
	tx, err := db.BeginTx(t.Context(), nil)
	noError(t, err)
	if _, err := tx.ExecContext(t.Context(), "UPDATE s1_record SET note = 'held' WHERE fence = ?", uint64(dead[50].Fence)); err != nil {
		t.Fatal(err)
	}
	var removed int
	var wg sync.WaitGroup
	wg.Go(func() {
		var err error
		if removed, err = s.Sweep(t.Context(), 1000); err != nil {
			t.Error(err)
		}
	})
	waiters(t, db, 1)
	settles(t, s, live, completed("x"))
	for i := range 5 {
		settles(t, s, wins(t, s, params(fmt.Sprint("new", i))), completed("x"))
	}
	noError(t, tx.Rollback())
	wg.Wait()
	if removed != len(dead) {
		t.Errorf("swept %d, want %d", removed, len(dead))
	}
}

// An outcome that the server would not take is ErrFull before it is sent, and
// the claim stays; the largest that fits comes back as it was.
func TestLargeOutcomes(t *testing.T) {
	t.Parallel()
	for name, params := range map[string]string{"interpolated": fast, "prepared": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, db, _ := ticking(t, params, nil)
			var packet int
			if _, err := fmt.Sscan(value(t, db, "SELECT @@max_allowed_packet"), &packet); err != nil {
				t.Fatal(err)
			}
			rec := wins(t, s, largest())
			for _, size := range []int{packet, packet - 1<<10, packet - 16<<10 + 1} {
				err := s.Settle(t.Context(), rec.Digest, rec.Fence, completed(strings.Repeat("'", size)))
				if !errors.Is(err, semel.ErrFull) || !strings.Contains(err.Error(), "max_allowed_packet") {
					t.Errorf("%d bytes: got %v, want %v with what to do", size, err, semel.ErrFull)
				}
			}
			outcome := strings.Repeat("'", packet-16<<10)
			settles(t, s, rec, completed(outcome))
			if got, err := s.Lookup(t.Context(), rec.Digest); err != nil || string(got.Outcome) != outcome {
				t.Errorf("got %d bytes, error %v, want %d", len(got.Outcome), err, len(outcome))
			}
		})
	}
}

// largest is a claim with the longest texts.
func largest() semel.ClaimParams {
	p := params("k")
	p.Scope, p.Name = strings.Repeat("s", semel.MaxScopeBytes), strings.Repeat("n", semel.MaxKeyBytes)
	p.Lease = time.Hour
	return p
}
