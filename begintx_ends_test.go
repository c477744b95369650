package semel_test

import (
	"context"
	"errors"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/store/memstore"
)

// Promises 2 to 4: whatever ends a claim in a transaction, its row and its
// record agree, and later attempts, of any guard, get what the record says.
func TestBeginTxEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		policy semel.Policy
		end    func(*semel.TxClaim) error
		rows   int
		state  semel.State
		note   string
		replay string
		again  error // of the next attempt; nil with no replay when it may execute
	}{
		"complete":   {end: func(c *semel.TxClaim) error { return c.Complete([]byte("answer"), nil) }, rows: 1, state: semel.StateCompleted, replay: "answer"},
		"rollback":   {end: func(c *semel.TxClaim) error { return c.Rollback("not today") }},
		"unknown":    {end: func(c *semel.TxClaim) error { return c.Unknown("on its way") }, state: semel.StateUnknown, note: "on its way", again: semel.ErrUnknown},
		"cancel":     {end: func(c *semel.TxClaim) error { return c.Cancel("undone") }, state: semel.StateCancelled, note: "undone", again: semel.ErrCancelled},
		"final":      {end: func(c *semel.TxClaim) error { return c.Final([]byte("sold out"), nil) }, state: semel.StateCompleted, replay: "sold out"},
		"too large":  {policy: semel.Policy{MaxOutcomeBytes: 3}, end: func(c *semel.TxClaim) error { return c.Complete([]byte("answer"), nil) }, rows: 1, state: semel.StateCompleted, again: semel.ErrNotKept},
		"duplicates": {policy: semel.Policy{Dedup: true}, end: func(c *semel.TxClaim) error { return c.Complete([]byte("answer"), nil) }, rows: 1, state: semel.StateCompleted, again: semel.ErrDuplicate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &semel.Options{Policy: test.policy}
			db, _, g := openTx(t, memdb.Options{}, o)
			claim := mustBeginTx(t, g, db, "a")
			if semel.FenceFrom(claim.Context()) != claim.Fence() || semel.TxClaimFrom(claim.Context()) != claim {
				t.Error("the work does not find its claim")
			}
			mustSucceed(t, test.end(claim))
			if err := claim.Complete([]byte("late"), nil); !errors.Is(err, semel.ErrSettled) || claim.Context().Err() == nil {
				t.Errorf("a second end: got %v, context %v, want %v and an end", err, claim.Context().Err(), semel.ErrSettled)
			}
			rec, err := g.Lookup(t.Context(), testKey("a"))
			if rec.State != test.state || rec.Note != test.note || err != nil && !errors.Is(err, semel.ErrNotFound) || db.Count("a") != test.rows {
				t.Errorf("got %v with note %q, %d rows, error %v, want %v with %q, %d rows", rec.State, rec.Note, db.Count("a"), err, test.state, test.note, test.rows)
			}
			for _, g := range []*semel.Guard{g, newTxGuard(t, db, o)} {
				switch {
				case test.again != nil:
					mustRefuseTx(t, g, db.Pool(), "a", test.again)
				case test.replay != "":
					claim, rec, err := g.BeginTx(t.Context(), db.Pool(), testKey("a"), testFingerprint())
					if claim != nil || err != nil || string(rec.Outcome) != test.replay {
						t.Errorf("got claim %v, error %v, want %q replayed", claim, err, test.replay)
					}
				default:
					if err := mustBeginTx(t, g, db, "a").Rollback(""); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}

// Promises 1 and 4: a duplicate that does not wait is refused while the claim is
// open, and what is completed after its context has ended is rolled back.
func TestBeginTxInFlight(t *testing.T) {
	t.Parallel()
	db := memdb.New(memstore.New(nil), nil)
	hasty := &semel.Options{Policy: semel.Policy{Wait: semel.NoWait}}
	g, other := newTxGuard(t, db, hasty), newTxGuard(t, db, hasty)
	ctx, cancel := context.WithCancel(t.Context())
	claim, _, err := g.BeginTx(ctx, db, testKey("a"), testFingerprint())
	mustSucceed(t, err)
	mustRefuseTx(t, g, db, "a", semel.ErrInFlight)
	mustRefuseTx(t, other, db.Pool(), "a", semel.ErrInFlight)
	mustSucceed(t, db.Insert(claim.Context(), "a"))
	cancel()
	if err := claim.Complete([]byte("answer"), nil); !errors.Is(err, semel.ErrRolledBack) || db.Count("a") != 0 {
		t.Errorf("got %v, %d rows, want %v and none", err, db.Count("a"), semel.ErrRolledBack)
	}
}
