package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/semel-dev/semel"
)

func txEndRules() []txRule {
	return []txRule{
		{Name: "tx/commit", Promise: 4, Says: "rows and record become visible together, and the record holds all of the outcome", check: txCommit},
		{Name: "tx/commit-not-kept", Promise: 3, Says: "an answer that was not kept is recorded as such", check: txCommitNotKept},
		{Name: "tx/commit-unknown", Promise: 3, Says: "an unknown outcome is recorded, and can be taken over afterwards", check: txCommitUnknown},
		{Name: "tx/commit-cancelled", Promise: 3, Says: "a transaction can leave a tombstone", check: txCommitCancelled},
		{Name: "tx/commit-invalid", Says: "a Commit that no store accepts commits nothing", check: txCommitInvalid},
		{Name: "tx/commit-context", Promise: 4, Says: "a Commit whose context has ended commits all or nothing", check: txCommitContext},
		{Name: "tx/outcome-bytes", Promise: 2, Says: "an outcome comes back byte for byte, from nothing to a mebibyte, and the caller's memory is not kept", check: txOutcomeBytes},
		{Name: "tx/expiry", Promise: 2, Says: "the retention starts with the commit", check: txExpiry},
		{Name: "tx/store-verbs", Promise: 2, Says: "what a transaction recorded is like any other record to the verbs of the store", check: txStoreVerbs},
		{Name: "tx/rollback", Promise: 4, Says: "a rollback leaves neither rows nor record, and the key is free", check: txRollback},
		{Name: "tx/rollback-any-time", Promise: 4, Says: "Rollback works before a Claim, twice, and after Commit, which it does not undo", check: txRollbackAnyTime},
		{Name: "tx/adopt", Promise: 4, Says: "a transaction can settle a claim that was committed before, together with its rows", check: txAdopt},
		{Name: "tx/adopt-lost", Promise: 4, Says: "but only as long as that claim holds; otherwise nothing happened", check: txAdoptLost},
		{Name: "tx/connections", Promise: 8, Says: "whatever the end, the connection is given back", check: txConnections},
	}
}

func txCommit(c *txCheck) {
	p, tx, won := c.txClaimed("a")
	c.insert(tx, "first")
	c.insert(tx, "second")
	c.wantErr("Commit must not fail", tx.Commit(c.ctx, completed("answer")), nil)
	// Before Rollback gives the connection back.
	rec := c.lookup(p.Digest)
	c.rows("a committed row must be visible", "first", 1)
	c.rows("a committed row must be visible", "second", 1)
	c.rollback(tx)
	c.equal("the record must hold what was claimed and settled", rec, semel.Record{
		Digest: p.Digest, Scope: p.Scope, Name: p.Name, Fingerprint: p.Fingerprint,
		State: semel.StateCompleted, Fence: won.Fence, Owner: p.Owner, Attempt: 1,
		Outcome: []byte("answer"), Kept: true,
		// The clock may run meanwhile.
		ClaimedAt: rec.ClaimedAt, SettledAt: rec.SettledAt, LeaseUntil: rec.LeaseUntil, ExpiresAt: rec.ExpiresAt,
	})
	if rec.SettledAt.IsZero() || rec.ClaimedAt.IsZero() || rec.SettledAt.Before(rec.ClaimedAt) {
		c.fail("the record must say when it was claimed and settled", []time.Time{rec.ClaimedAt, rec.SettledAt}, "two times in order")
	}
	if left := rec.ExpiresAt.Sub(rec.SettledAt); left != retention {
		c.fail("the record must expire after its retention", left, retention)
	}
	c.wholeMS("committed", rec)
	c.txLoses("what was completed must not be won again", p, rec)
	c.loses("what was completed must not be won again, without a transaction neither", by("second", p), rec)
}

func txCommitNotKept(c *txCheck) {
	p, tx, _ := c.txClaimed("a")
	c.insert(tx, "a")
	c.commit(tx, semel.Settlement{State: semel.StateCompleted, Outcome: []byte("summary"), Retention: retention})
	rec := c.lookup(p.Digest)
	if rec.State != semel.StateCompleted || rec.Kept || string(rec.Outcome) != "summary" {
		c.fail("the record must say that the answer was not kept", fmt.Sprintf("%s, kept %v, %q", describe(rec), rec.Kept, rec.Outcome), "completed, kept false")
	}
	c.rows("the row must be committed", "a", 1)
}

func txCommitUnknown(c *txCheck) {
	p, tx, _ := c.txClaimed("a")
	c.commit(tx, unknown("the reply never came, see log ⚠"))
	rec := c.lookup(p.Digest)
	if rec.State != semel.StateUnknown || rec.Note != "the reply never came, see log ⚠" {
		c.fail("the record must be unknown, with its note", fmt.Sprintf("%s, note %q", describe(rec), rec.Note), "unknown")
	}
	c.txLoses("what is unknown must not be won", by("second", p), rec)
	next := c.wins("what is unknown must be open to a takeover without a transaction", takingOver(rec.Fence, by("second", p)))
	c.grows(rec.Fence, next.Fence)
	c.equal("a takeover must count as one attempt", next.Attempt, 2)
}

func txCommitCancelled(c *txCheck) {
	p, tx, _ := c.txClaimed("a")
	c.commit(tx, cancelled("the order was undone"))
	rec := c.lookup(p.Digest)
	if rec.State != semel.StateCancelled || rec.Note != "the order was undone" {
		c.fail("the tombstone must say why", fmt.Sprintf("%s, note %q", describe(rec), rec.Note), "cancelled")
	}
	c.txLoses("what is cancelled must not be won", by("second", p), rec)
}

func txCommitInvalid(c *txCheck) {
	p := c.params("a")
	for name, to := range map[string]semel.Settlement{
		"no retention": {State: semel.StateCompleted},
		"as claimed":   {State: semel.StateClaimed, Retention: retention},
		"long note":    {State: semel.StateUnknown, Note: string(bytes.Repeat([]byte{'x'}, semel.MaxNoteBytes+1)), Retention: retention},
	} {
		tx, _ := c.txWins("an absent intent must be won", p)
		c.insert(tx, "a")
		if err := tx.Commit(c.ctx, to); err == nil {
			c.fail("an invalid settlement must be refused: "+name, err, "an error")
		}
		c.rollback(tx)
		c.absent("an invalid settlement must commit nothing: "+name, p.Digest)
	}
	c.rows("an invalid settlement must commit nothing", "a", 0)
}

func txCommitContext(c *txCheck) {
	p, tx, _ := c.txClaimed("a")
	c.insert(tx, "a")
	err := tx.Commit(c.ended(), completed("answer"))
	c.rollback(tx)
	_, lookupErr := c.Store.Lookup(c.ctx, p.Digest)
	committed := lookupErr == nil
	want := 0
	if committed {
		want = 1
	}
	c.rows("row and record must be committed together", "a", want)
	switch {
	case err == nil && !committed:
		c.fail("a Commit that returns nil must have committed", "nothing", "row and record")
	case committed && (errors.Is(err, semel.ErrRolledBack) || errors.Is(err, semel.ErrLost) || errors.Is(err, semel.ErrFull)):
		c.fail("a Commit that says that nothing happened must have committed nothing", err, "no such error")
	case !committed:
		c.done(p)
	}
}

func txOutcomeBytes(c *txCheck) {
	for name, outcome := range outcomes() {
		p, tx, _ := c.txClaimed(name)
		mine := bytes.Clone(outcome)
		c.commit(tx, semel.Settlement{State: semel.StateCompleted, Outcome: mine, Kept: true, Retention: retention})
		clear(mine)
		c.kept(name, p.Digest, outcome)
	}
}

func txExpiry(c *txCheck) {
	p := c.params("a")
	rec := c.done(p)
	c.Advance(retention - c.margin())
	if c.Running {
		c.absentOr(rec)
	} else {
		c.txLoses("the outcome must stay until its retention ends", by("second", p), rec)
	}
	c.Advance(2 * c.margin())
	c.absent("the outcome must be forgotten when its retention has ended", p.Digest)
	tx, next := c.txWins("what has expired must be won", by("second", p))
	c.grows(rec.Fence, next.Fence)
	c.insert(tx, p.Name)
	c.commit(tx, completed("second answer"))
	c.rows("both transactions must have left their row", p.Name, 2)
}

// absentOr looks the record up close to its end under a clock that runs.
func (c *txCheck) absentOr(stands semel.Record) {
	c.Helper()
	found, err := c.Store.Lookup(c.ctx, stands.Digest)
	if err == nil {
		c.equal("the record must stay", found, stands)
		return
	}
	c.wantErr("the record must stay, or have just expired", err, semel.ErrNotFound)
}

func txStoreVerbs(c *txCheck) {
	p := c.params("a")
	rec := c.done(p)
	c.renew("a completed record must not be renewed", rec, semel.ErrLost)
	c.settle("the same settlement again must return nil", rec, completed("answer"), nil)
	c.settle("another settlement must be refused", rec, completed("another answer"), semel.ErrSettled)
	c.settle("a release must be refused", rec, released(), semel.ErrSettled)
	other := rec
	other.Fence++
	c.settle("another fence must be refused", other, completed("answer"), semel.ErrLost)
	c.equal("nothing of this must have changed the record", c.lookup(p.Digest), rec)
	c.sweep()
	c.equal("a sweep must leave it", c.lookup(p.Digest), rec)
}

func txRollback(c *txCheck) {
	p := c.params("a")
	for range 3 {
		tx, _ := c.txWins("what was rolled back must be won again", p)
		c.insert(tx, "a")
		c.rollback(tx)
		c.absent("a rollback must leave no record", p.Digest)
		c.rows("a rollback must leave no row", "a", 0)
	}
	rec := c.wins("an intent that was rolled back must also be won without a transaction", p)
	c.settle("a held claim must be released", rec, released(), nil)
	c.done(p)
	c.rows("the one that was committed must have left its row", "a", 1)
}

func txRollbackAnyTime(c *txCheck) {
	p := c.params("a")
	tx := c.txOpen(c.db.Transactor)
	c.rollback(tx)
	c.rollback(tx)
	tx, _ = c.txWins("an absent intent must be won", p)
	c.insert(tx, "a")
	c.wantErr("Commit must not fail", tx.Commit(c.ctx, completed("answer")), nil)
	c.rollback(tx)
	c.rollback(tx)
	rec := c.lookup(p.Digest)
	c.rows("a Rollback after Commit must undo nothing", "a", 1)
	tx = c.txOpen(c.db.Transactor)
	if _, won, err := tx.Claim(c.ctx, p, txWait); err != nil || won {
		c.fail("a completed intent must be shown", fmt.Sprint(won, err), "won = false")
	}
	c.rollback(tx)
	c.rollback(tx)
	c.equal("a Rollback after a Claim that was not won must undo nothing", c.lookup(p.Digest), rec)
}

// adopter is implemented by transactions that settle a claim which was committed before.
type adopter interface {
	Adopt(ctx context.Context, d semel.Digest, f semel.Fence) error
}

// adopts opens a transaction that adopts the claim.
func (c *txCheck) adopts(rec semel.Record) semel.Tx {
	c.Helper()
	tx := c.txOpen(c.db.Transactor)
	a, ok := tx.(adopter)
	if !ok {
		c.Skip("the transactions adopt no claims")
	}
	c.wantErr("Adopt must not fail", a.Adopt(c.ctx, rec.Digest, rec.Fence), nil)
	return tx
}

func txAdopt(c *txCheck) {
	large := completed(strings.Repeat("x", 1<<20))
	for name, to := range map[string]semel.Settlement{"small": completed("answer"), "large": large, "without a row": completed("answer")} {
		p := c.params(name)
		rec := c.wins("an absent intent must be won", p)
		tx := c.adopts(rec)
		if a, ok := tx.(adopter); ok && a.Adopt(c.ctx, rec.Digest, rec.Fence) == nil {
			c.fail("a transaction must be used once", nil, "an error")
		}
		rows := 0
		if name != "without a row" {
			c.insert(tx, name)
			rows = 1
		}
		c.rows("the row must be invisible before the commit", name, 0)
		c.equal("the record must stay claimed before the commit", c.lookup(rec.Digest).State, semel.StateClaimed)
		c.commit(tx, to)
		c.rows("the row must be committed", name, rows)
		c.kept(name, p.Digest, to.Outcome)
		c.equal("the record must keep its fence", c.lookup(p.Digest).Fence, rec.Fence)
	}
	rec := c.wins("an absent intent must be won", c.params("undone"))
	tx := c.adopts(rec)
	c.insert(tx, "undone")
	c.rollback(tx)
	c.rows("a rollback must leave no row", "undone", 0)
	c.renew("a rollback must leave the claim", rec, nil)
	c.settle("a rollback must leave the claim", rec, completed("answer"), nil)
}

func txAdoptLost(c *txCheck) {
	for name, lose := range map[string]func(semel.Record){
		"taken over": func(rec semel.Record) {
			c.wins("a lapsed claim must be taken over", takingOver(rec.Fence, by("second", c.params(rec.Name))))
		},
		"completed": func(rec semel.Record) { c.settle("a claim must be settled", rec, completed("another"), nil) },
		"unknown":   func(rec semel.Record) { c.settle("a claim must be settled", rec, unknown("lost"), nil) },
		"released":  func(rec semel.Record) { c.settle("a claim must be released", rec, released(), nil) },
	} {
		for _, meanwhile := range []bool{false, true} {
			if meanwhile && c.db.OneWriter {
				continue // it waits for the end of the transaction
			}
			p := c.params(fmt.Sprint(name, meanwhile))
			rec := c.wins("an absent intent must be won", p)
			c.lapse(rec.Digest)
			if !meanwhile {
				lose(rec)
			}
			tx := c.adopts(rec)
			c.insert(tx, p.Name)
			if meanwhile {
				lose(rec)
			}
			before, lookupErr := c.Store.Lookup(c.ctx, p.Digest)
			if err := tx.Commit(c.ctx, completed("answer")); !errors.Is(err, semel.ErrLost) && !tx.Conflict(err) {
				c.fail("a claim that is lost must not be settled: "+p.Name, err, semel.ErrLost)
			}
			c.rollback(tx)
			c.rows("a claim that is lost must commit nothing", p.Name, 0)
			after, err := c.Store.Lookup(c.ctx, p.Digest)
			c.equal("a claim that is lost must leave the record", after, before)
			c.equal("a claim that is lost must leave the record", err == nil, lookupErr == nil)
		}
	}
}

func txConnections(c *txCheck) {
	c.done(c.params("done"))
	for i := range 2*c.db.Connections + 2 {
		p, tx, _ := c.txClaimed(fmt.Sprint("a", i))
		c.rollback(tx)
		tx, _ = c.txWins("an absent intent must be won", p)
		c.commit(tx, completed("answer"))
		tx = c.txOpen(c.db.Transactor)
		if _, won, err := tx.Claim(c.ctx, c.params("done"), txWait); err != nil || won {
			c.fail("a completed intent must be shown", fmt.Sprint(won, err), "won = false")
		}
		c.rollback(tx)
		tx = c.txOpen(c.db.Transactor)
		if _, _, err := tx.Claim(c.ended(), c.params("ended"), txWait); err == nil {
			c.fail("a context that has ended must be an error", err, "an error")
		}
		c.rollback(tx)
		tx, _ = c.txWins("an absent intent must be won", c.params("refused"))
		if err := tx.Commit(c.ctx, semel.Settlement{}); err == nil {
			c.fail("an invalid settlement must be refused", err, "an error")
		}
		c.rollback(tx)
	}
}
