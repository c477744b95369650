package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
)

func beginTxRules() []TxRule {
	return []TxRule{
		{Name: "begintx/complete", Promise: 4, Says: "what was completed is replayed, by every guard", check: beginComplete},
		{Name: "begintx/rollback", Promise: 3, Says: "what was rolled back is executed by the next attempt", check: beginRollback},
		{Name: "begintx/unknown", Promise: 3, Says: "Unknown leaves no row, and is refused from then on", check: beginUnknown},
		{Name: "begintx/cancel", Promise: 3, Says: "Cancel leaves no row, and a tombstone", check: beginCancel},
		{Name: "begintx/final", Promise: 2, Says: "Final leaves no row, and its outcome is replayed", check: beginFinal},
		{Name: "begintx/not-kept", Promise: 3, Says: "an answer that is too large to keep is not executed again", check: beginNotKept},
		{Name: "begintx/in-flight", Promise: 1, Says: "an attempt that does not wait gets ErrInFlight, in the same process and in another", check: beginInFlight},
		{Name: "begintx/context-ended", Promise: 4, Says: "what is completed after its context has ended is rolled back", check: beginContextEnded},
		{Name: "begintx/left-unknown", Promise: 3, Says: "an unknown intent is refused, or executed again, as the policy says", check: beginLeftUnknown},
		{Name: "begintx/cancelled", Promise: 3, Says: "what was cancelled is refused", check: beginCancelled},
		{Name: "begintx/nested", Promise: 1, Says: "nested use of one key is refused, and of another one is a transaction of its own, or ends with the one around it", check: beginNested, writers: 2},
	}
}

const (
	txScope = "storetest transactions"
	txRow   = "row"
)

func txName(name string) semel.Key { return semel.Key{Scope: txScope, Name: name} }

// txAsked is the fingerprint of what every attempt of these rules asks.
func txAsked() semel.Fingerprint { return semel.FingerprintOf("asked") }

// guard returns a guard over the store that never sweeps on its own.
func (c *txCheck) guard(p semel.Policy) *semel.Guard {
	c.Helper()
	if p.Retention == 0 {
		p.Retention = retention
	}
	g, err := semel.New(c.Store, &semel.Options{Policy: p, SweepEvery: -1})
	c.wantErr("a guard must be made", err, nil)
	c.Cleanup(func() {
		if err := g.Close(); err != nil {
			c.Errorf("%s: close the guard: %v", c.rule.Name, err)
		}
	})
	return g
}

// begins must get a claim.
func (c *txCheck) begins(reason string, g *semel.Guard, k semel.Key) *semel.TxClaim {
	c.Helper()
	claim, rec, err := g.BeginTx(c.ctx, c.db.Transactor, k, txAsked())
	c.wantErr(reason, err, nil)
	if claim == nil {
		c.fail(reason, describe(*rec), "a claim")
	}
	c.Cleanup(func() { _ = claim.Rollback("the rule failed") }) // ErrSettled unless it did
	c.wantErr("the work must be able to write in the transaction", c.db.Insert(claim.Context(), txRow), nil)
	return claim
}

// replays must get the record of what was completed.
func (c *txCheck) replays(g *semel.Guard, k semel.Key, want string) {
	c.Helper()
	for name, t := range map[string]semel.Transactor{"the first": c.db.Transactor, "the second": c.db.Second} {
		claim, rec, err := g.BeginTx(c.ctx, t, k, txAsked())
		c.wantErr("what was completed must be replayed over "+name, err, nil)
		if claim != nil {
			_ = claim.Rollback("it was to be replayed")
			c.fail("what was completed must be replayed over "+name, "a claim", "a record")
		}
		if string(rec.Outcome) != want {
			c.fail("the first outcome must be replayed", string(rec.Outcome), want)
		}
	}
}

// refuses must get the error.
func (c *txCheck) refuses(reason string, g *semel.Guard, t semel.Transactor, k semel.Key, want error) {
	c.Helper()
	claim, rec, err := g.BeginTx(c.ctx, t, k, txAsked())
	if claim != nil {
		_ = claim.Rollback("it was to be refused")
	}
	if claim != nil || rec != nil {
		c.fail(reason, fmt.Sprint(claim != nil, rec != nil, err), want)
	}
	c.wantErr(reason, err, want)
}

func beginComplete(c *txCheck) {
	g, k := c.guard(semel.Policy{}), txName("a")
	claim := c.begins("an absent intent must be claimed", g, k)
	fence := claim.Fence()
	if fence == 0 || semel.FenceFrom(claim.Context()) != fence || semel.TxClaimFrom(claim.Context()) != claim {
		c.fail("the work must find its claim and fence", semel.FenceFrom(claim.Context()), fence)
	}
	c.wantErr("Complete must not fail", claim.Complete([]byte("answer"), nil), nil)
	c.wantErr("only the first end counts", claim.Complete([]byte("another"), nil), semel.ErrSettled)
	c.wantErr("only the first end counts", claim.Rollback(""), semel.ErrSettled)
	if claim.Context().Err() == nil {
		c.fail("the context must end with the claim", claim.Context().Err(), context.Canceled)
	}
	c.replays(g, k, "answer")
	c.replays(c.guard(semel.Policy{}), k, "answer")
	c.rows("the row must be there once", txRow, 1)
	rec, err := g.Lookup(c.ctx, k)
	c.wantErr("the record must be found", err, nil)
	if rec.Fence != fence {
		c.fail("the record must have the claim's fence", rec.Fence, fence)
	}
}

func beginRollback(c *txCheck) {
	g, k := c.guard(semel.Policy{}), txName("a")
	var last semel.Fence
	for range 3 {
		claim := c.begins("what was rolled back must be claimed again", g, k)
		c.grows(last, claim.Fence())
		last = claim.Fence()
		c.wantErr("Rollback must not fail", claim.Rollback("not today"), nil)
		c.rows("a rollback must leave no row", txRow, 0)
	}
	c.wantErr("Complete must not fail", c.begins("what was rolled back must be claimed again", g, k).Complete([]byte("answer"), nil), nil)
	c.replays(g, k, "answer")
	c.rows("the row must be there once", txRow, 1)
}

func beginUnknown(c *txCheck) {
	g, k := c.guard(semel.Policy{}), txName("a")
	claim := c.begins("an absent intent must be claimed", g, k)
	c.wantErr("Unknown must not fail", claim.Unknown("the mail may be on its way"), nil)
	c.rows("what is unknown must leave no row", txRow, 0)
	c.refuses("what is unknown must be refused", g, c.db.Transactor, k, semel.ErrUnknown)
	rec, err := g.Lookup(c.ctx, k)
	c.wantErr("the record must be found", err, nil)
	if rec.State != semel.StateUnknown || rec.Note != "the mail may be on its way" {
		c.fail("the record must say why", rec.Note, "the mail may be on its way")
	}
	_, err = records(g).Resolve(c.ctx, anOperator(), rec.Digest, rec.Fence, semel.Settlement{State: semel.StateReleased, Note: "looked it up"})
	c.wantErr("an operator must be able to resolve it", err, nil)
	c.wantErr("Complete must not fail", c.begins("what was resolved as released must be claimed", g, k).Complete([]byte("answer"), nil), nil)
	c.rows("the row must be there once", txRow, 1)
}

func beginCancel(c *txCheck) {
	g, k := c.guard(semel.Policy{}), txName("a")
	claim := c.begins("an absent intent must be claimed", g, k)
	c.wantErr("Cancel must not fail", claim.Cancel("the order was undone"), nil)
	c.rows("what is cancelled must leave no row", txRow, 0)
	c.refuses("what is cancelled must be refused", g, c.db.Transactor, k, semel.ErrCancelled)
	rec, err := g.Lookup(c.ctx, k)
	c.wantErr("the tombstone must be found", err, nil)
	if rec.State != semel.StateCancelled || rec.Note != "the order was undone" {
		c.fail("the tombstone must say why", fmt.Sprintf("%s, note %q", describe(rec), rec.Note), "cancelled")
	}
	c.wantErr("a claim must be settled once", claim.Cancel("again"), semel.ErrSettled)
}

func beginFinal(c *txCheck) {
	g, k := c.guard(semel.Policy{}), txName("a")
	claim := c.begins("an absent intent must be claimed", g, k)
	c.wantErr("Final must not fail", claim.Final([]byte("sold out"), nil), nil)
	c.rows("what is final must leave no row", txRow, 0)
	c.replays(g, k, "sold out")
}

func beginNotKept(c *txCheck) {
	g := c.guard(semel.Policy{MaxOutcomeBytes: 8})
	claim := c.begins("an absent intent must be claimed", g, txName("a"))
	c.wantErr("Complete must not fail", claim.Complete([]byte("an answer that is too large"), []byte("summary")), nil)
	c.refuses("what was not kept must not be executed again", g, c.db.Second, txName("a"), semel.ErrNotKept)
	dedup, err := g.With(semel.Policy{Dedup: true, Retention: retention})
	c.wantErr("a view of the guard must be made", err, nil)
	claim = c.begins("an absent intent must be claimed", dedup, txName("b"))
	c.wantErr("Complete must not fail", claim.Complete([]byte("answer"), nil), nil)
	c.refuses("a duplicate must be told so", dedup, c.db.Second, txName("b"), semel.ErrDuplicate)
	c.rows("both rows must be there", txRow, 2)
}

func beginInFlight(c *txCheck) {
	patient, k := c.guard(semel.Policy{}), txName("a")
	hasty, err := patient.With(semel.Policy{Wait: semel.NoWait, Retention: retention})
	c.wantErr("a view of the guard must be made", err, nil)
	claim := c.begins("an absent intent must be claimed", patient, k)
	c.refuses("a twin in the same process that does not wait", hasty, c.db.Transactor, k, semel.ErrInFlight)
	c.refuses("a twin in another process that does not wait", c.guard(semel.Policy{Wait: semel.NoWait}), c.db.Second, k, semel.ErrInFlight)
	c.wantErr("Complete must not fail", claim.Complete([]byte("answer"), nil), nil)
	c.replays(hasty, k, "answer")
	c.rows("the row must be there once", txRow, 1)
}

func beginContextEnded(c *txCheck) {
	g, k := c.guard(semel.Policy{}), txName("a")
	ctx, cancel := context.WithCancel(c.ctx)
	claim, _, err := g.BeginTx(ctx, c.db.Transactor, k, txAsked())
	c.wantErr("an absent intent must be claimed", err, nil)
	c.wantErr("the work must be able to write in the transaction", c.db.Insert(claim.Context(), txRow), nil)
	cancel()
	c.wantErr("what is completed too late must be rolled back", claim.Complete([]byte("answer"), nil), semel.ErrRolledBack)
	c.rows("a rollback must leave no row", txRow, 0)
	c.wantErr("Complete must not fail", c.begins("what was rolled back must be claimed again", g, k).Complete([]byte("answer"), nil), nil)
	c.rows("the row must be there once", txRow, 1)
}

func beginLeftUnknown(c *txCheck) {
	g := c.guard(semel.Policy{})
	for _, name := range []string{"unknown", "lapsed"} {
		p := c.params(name)
		p.Digest, p.Fingerprint = g.Digest(txName(name)), txAsked()
		rec := c.wins("an absent intent must be won", p)
		if name == "unknown" {
			c.settle("a held claim must be settled", rec, unknown("it may have happened"), nil)
			continue
		}
		c.lapse(p.Digest)
	}
	rerun, err := g.With(semel.Policy{OnUnknown: semel.Rerun, Retention: retention})
	c.wantErr("a view of the guard must be made", err, nil)
	for i, name := range []string{"unknown", "lapsed"} {
		k := txName(name)
		c.refuses("what was left must be refused: "+name, g, c.db.Transactor, k, semel.ErrUnknown)
		c.rows("what was left must not have been executed", txRow, i)
		claim := c.begins("what was left must be executed again where the policy says so: "+name, rerun, k)
		c.wantErr("Complete must not fail", claim.Complete([]byte("answer"), nil), nil)
		c.replays(g, k, "answer")
		c.rows("the row must be there once", txRow, i+1)
	}
}

func beginCancelled(c *txCheck) {
	g, k := c.guard(semel.Policy{}), txName("a")
	_, err := records(g).Cancel(c.ctx, anOperator(), k, 0, "a mistake")
	c.wantErr("an absent intent must be cancelled", err, nil)
	c.refuses("what was cancelled must be refused", g, c.db.Transactor, k, semel.ErrCancelled)
}

func beginNested(c *txCheck) {
	if c.db.Connections < 2 {
		c.Skip("there is one connection")
	}
	g := c.guard(semel.Policy{})
	outer := c.begins("an absent intent must be claimed", g, txName("outer"))
	for name, g := range map[string]*semel.Guard{"the same guard": g, "another guard": c.guard(semel.Policy{})} {
		claim, rec, err := g.BeginTx(outer.Context(), c.db.Transactor, txName("outer"), txAsked())
		if claim != nil || rec != nil {
			c.fail("nested use of one key must be refused by "+name, fmt.Sprint(claim, rec), semel.ErrInFlight)
		}
		c.wantErr("nested use of one key must be refused by "+name, err, semel.ErrInFlight)
	}
	inner, _, err := g.BeginTx(outer.Context(), c.db.Transactor, txName("inner"), txAsked())
	c.wantErr("another key must be claimed inside", err, nil)
	if semel.TxClaimFrom(inner.Context()) != inner || semel.FenceFrom(inner.Context()) != inner.Fence() {
		c.fail("the inner work must find its own claim", semel.FenceFrom(inner.Context()), inner.Fence())
	}
	c.wantErr("the inner work must be able to write", c.db.Insert(inner.Context(), "inner"), nil)
	c.wantErr("the inner Complete must not fail", inner.Complete([]byte("inner answer"), nil), nil)
	committed, err := c.db.Count(c.ctx, "inner")
	c.wantErr("the rows must be countable", err, nil)
	c.wantErr("the outer Rollback must not fail", outer.Rollback(""), nil)
	c.rows("the outer row must be gone", txRow, 0)
	c.rows("what was committed must stay, and nothing else", "inner", committed)
	if committed == 1 {
		c.replays(g, txName("inner"), "inner answer")
	} else if _, err := g.Lookup(c.ctx, txName("inner")); !errors.Is(err, semel.ErrNotFound) {
		c.fail("the inner record must be gone with its row", err, semel.ErrNotFound)
	}
	if _, err := g.Lookup(c.ctx, txName("outer")); !errors.Is(err, semel.ErrNotFound) {
		c.fail("the outer record must be gone", err, semel.ErrNotFound)
	}
}
