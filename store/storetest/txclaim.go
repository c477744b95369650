package storetest

import (
	"context"
	"errors"

	"github.com/semel-dev/semel"
)

func txClaimRules() []txRule {
	return []txRule{
		{Name: "tx/claim-absent", Promise: 1, Says: "an absent intent is won, and invisible before the commit", check: txClaimAbsent},
		{Name: "tx/claim-released", Promise: 1, Says: "a released intent is won", check: txClaimReleased},
		{Name: "tx/claim-expired", Promise: 2, Says: "what has expired is absent, whatever it was", check: txClaimExpired},
		{Name: "tx/claim-shown", Promise: 2, Says: "an existing record is returned unchanged and not won, not even a lapsed claim or one of the same owner", check: txClaimShown},
		{Name: "tx/claim-takeover", Promise: 3, Says: "a transaction takes nothing over", check: txClaimTakeOver},
		{Name: "tx/claim-invalid", Says: "invalid parameters are refused and change nothing", check: txClaimInvalid},
		{Name: "tx/claim-context", Promise: 10, Says: "a Claim whose context has ended errs, and nothing happened", check: txClaimContext},
		{Name: "tx/fences", Promise: 1, Says: "fences grow across transactions and claims without, whatever was rolled back", check: txFences},
		{Name: "tx/context", Promise: 4, Says: "the context of a transaction keeps the values and the end of the one given", check: txContext},
		{Name: "tx/conflict", Says: "only an error of the database is a conflict", check: txConflict},
	}
}

func txClaimAbsent(c *txCheck) {
	p, tx, rec := c.txClaimed("a")
	c.equal("the claim must hold what was claimed",
		[]any{rec.Digest, rec.Scope, rec.Name, rec.Fingerprint, rec.State, rec.Owner, rec.Attempt},
		[]any{p.Digest, p.Scope, p.Name, p.Fingerprint, semel.StateClaimed, p.Owner, 1})
	c.insert(tx, "a")
	c.absent("the record must be invisible before the commit", p.Digest)
	c.rows("the row must be invisible before the commit", "a", 0)
	c.rollback(tx)
}

func txClaimReleased(c *txCheck) {
	p := c.params("a")
	before := c.wins("an absent intent must be won", p)
	c.settle("a held claim must be released", before, released(), nil)
	tx, rec := c.txWins("a released intent must be won", by("second", p))
	c.grows(before.Fence, rec.Fence)
	c.equal("what was released counts for nothing", rec.Attempt, 1)
	c.commit(tx, completed("answer"))
}

func txClaimExpired(c *txCheck) {
	held := c.held()
	inTx := c.done(c.params("in a transaction"))
	var last semel.Fence
	for _, rec := range held {
		last = max(last, rec.Fence)
	}
	last = max(last, inTx.Fence)
	c.Advance(lease + retention + c.margin())
	for name, before := range map[string]semel.Record{
		"claimed": held["claimed"], "completed": held["completed"], "unknown": held["unknown"],
		"cancelled": held["cancelled"], "in a transaction": inTx,
	} {
		tx, rec := c.txWins("what has expired must be won: "+name, by("second", c.params(before.Name)))
		c.grows(last, rec.Fence)
		last = rec.Fence
		c.equal("what has expired counts for nothing: "+name, rec.Attempt, 1)
		c.insert(tx, "second "+name)
		c.commit(tx, completed("second answer"))
		found := c.lookup(before.Digest)
		if string(found.Outcome) != "second answer" || found.Fence != rec.Fence || found.Note != "" {
			c.fail("the record must be the new one: "+name, describe(found), describe(rec))
		}
		c.rows("the row must be committed", "second "+name, 1)
	}
}

func txClaimShown(c *txCheck) {
	for name, rec := range c.held() {
		c.txLoses("a record that is there must not be won: "+name, c.params(name), rec)
		c.txLoses("a record that is there must not be won by another owner: "+name, by("second", c.params(name)), rec)
	}
	rec := c.done(c.params("in a transaction"))
	c.txLoses("what a transaction completed must not be won", c.params("in a transaction"), rec)
	c.lapse(c.params("claimed").Digest)
	lapsed := c.lookup(c.params("claimed").Digest)
	if !lapsed.Lapsed() {
		c.fail("the claim must have lapsed", describe(lapsed), "a lapsed one")
	}
	c.txLoses("a lapsed claim must not be won", by("second", c.params("claimed")), lapsed)
}

func txClaimTakeOver(c *txCheck) {
	held := c.held()
	c.lapse(held["claimed"].Digest)
	for _, name := range []string{"claimed", "unknown"} {
		rec := held[name]
		c.txLoses("a transaction must not take over: "+name, takingOver(rec.Fence, by("second", c.params(name))), rec)
	}
}

func txClaimInvalid(c *txCheck) {
	p := c.params("a")
	p.Retention = 0
	tx := c.txOpen(c.db.Transactor)
	if _, won, err := tx.Claim(c.ctx, p, txWait); err == nil || won {
		c.fail("invalid parameters must be refused", err, "an error")
	}
	c.rollback(tx)
	c.absent("invalid parameters must change nothing", p.Digest)
}

func txClaimContext(c *txCheck) {
	p := c.params("a")
	tx := c.txOpen(c.db.Transactor)
	_, won, err := tx.Claim(c.ended(), p, txWait)
	c.undecidedTx(err)
	c.equal("an error must not come with a win", won, false)
	c.rollback(tx)
	c.absent("a Claim that errs must change nothing", p.Digest)
	if tx, err := c.db.Transactor.Transaction(c.ended()); err == nil {
		// A free connection may be returned; it is not used.
		_, _, err = tx.Claim(c.ended(), p, txWait)
		c.undecidedTx(err)
		c.rollback(tx)
	}
	c.done(p)
}

func txFences(c *txCheck) {
	var last semel.Fence
	next := func(f semel.Fence) {
		c.Helper()
		c.grows(last, f)
		last = f
	}
	for i := range 4 {
		name := string(rune('a' + i))
		next(c.wins("an absent intent must be won", c.params(name+"1")).Fence)
		tx, rec := c.txWins("an absent intent must be won", c.params(name+"2"))
		next(rec.Fence)
		c.rollback(tx)
		tx, rec = c.txWins("what was rolled back must be won", c.params(name+"2"))
		next(rec.Fence)
		c.commit(tx, completed("answer"))
		if found := c.lookup(rec.Digest); found.Fence != rec.Fence {
			c.fail("the record must have the claim's fence", found.Fence, rec.Fence)
		}
	}
	next(c.wins("an absent intent must be won", c.params("last")).Fence)
}

type txValue struct{}

func txContext(c *txCheck) {
	tx, _ := c.txWins("an absent intent must be won", c.params("a"))
	outer, cancel := context.WithCancel(context.WithValue(c.ctx, txValue{}, "value"))
	inner := tx.Context(outer)
	if inner.Value(txValue{}) != "value" {
		c.fail("the values must be kept", inner.Value(txValue{}), "value")
	}
	c.wantErr("the context must not have ended", inner.Err(), nil)
	cancel()
	select {
	case <-inner.Done():
	case <-c.ctx.Done():
		c.fail("the context must end with the one given", "it goes on", "its end")
	}
	c.rollback(tx)
	c.wantErr("outside of the transaction rows must be written at once", c.db.Insert(c.ctx, "apart"), nil)
	c.rows("a row outside of a transaction", "apart", 1)
}

func txConflict(c *txCheck) {
	tx, _ := c.txWins("an absent intent must be won", c.params("a"))
	for _, err := range []error{nil, errors.New("business"), context.Canceled, context.DeadlineExceeded, semel.ErrInFlight} {
		if tx.Conflict(err) {
			c.fail("an error of the work is not a conflict", err, "no conflict")
		}
	}
	c.rollback(tx)
}
