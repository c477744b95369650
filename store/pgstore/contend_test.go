package pgstore_test

import (
	"context"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// Promise 1: a claim that meets one which is not committed yet waits for it,
// and is shown it or wins.
func TestClaimMeetsAnUncommittedOne(t *testing.T) {
	t.Parallel()
	for name, claim := range map[string]func(context.Context, *pgstore.Store, semel.ClaimParams) (semel.Record, bool, error){
		"alone": func(ctx context.Context, s *pgstore.Store, p semel.ClaimParams) (semel.Record, bool, error) {
			return s.Claim(ctx, p)
		},
		"in a batch": func(ctx context.Context, s *pgstore.Store, p semel.ClaimParams) (semel.Record, bool, error) {
			answers, _, err := s.Batch(ctx, []semel.ClaimParams{params("other"), p}, nil)
			if err != nil {
				return semel.Record{}, false, err
			}
			return answers[1].Record, answers[1].Won, answers[1].Err
		},
	} {
		for end, won := range map[string]bool{"commit": false, "rollback": true} {
			t.Run(name+" "+end, func(t *testing.T) {
				t.Parallel()
				s := open(t, nil)
				p := pool(t, testserver.Postgres(t), 2)
				tx, err := p.Begin(t.Context())
				noError(t, err)
				first, mine := params("k"), params("k")
				mine.Owner = semel.Owner{2}
				_, err = tx.Exec(t.Context(), s.Statement("claim"), first.Digest[:], first.Owner[:], first.Fingerprint[:],
					lease.Milliseconds(), retention.Milliseconds(), first.Scope, first.Name)
				noError(t, err)
				done := make(chan struct{})
				var rec semel.Record
				var got bool
				var claimErr error
				go func() {
					defer close(done)
					rec, got, claimErr = claim(t.Context(), s, mine)
				}()
				waitsForALock(t, s)
				finish := tx.Commit
				if won {
					finish = tx.Rollback
				}
				noError(t, finish(t.Context()))
				<-done
				want := first.Owner
				if won {
					want = mine.Owner
				}
				if claimErr != nil || got != won || rec.Owner != want {
					t.Errorf("got won %v, owner %x, error %v, want won %v", got, rec.Owner[0], claimErr, won)
				}
			})
		}
	}
}

// waitsForALock returns when a statement of the store waits for another
// transaction.
func waitsForALock(t *testing.T, s *pgstore.Store) {
	t.Helper()
	p := pool(t, testserver.Postgres(t), 1)
	testserver.Eventually(t, "a statement waits", func() bool {
		var n int
		err := p.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1",
			"%"+s.SchemaName()+"%").Scan(&n)
		noError(t, err)
		return n > 0
	})
}
