package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
)

func txWaitRules() []txRule {
	return []txRule{
		{Name: "tx/wait-commit", Promise: 1, Says: "a claim of the key of an open transaction waits, and then gets the record", check: txWaitCommit},
		{Name: "tx/wait-rollback", Promise: 1, Says: "when the holder rolls back, the one that waits wins", check: txWaitRollback},
		{Name: "tx/wait-bound", Promise: 8, Says: "it waits no longer than it may, then gets ErrInFlight, and nothing happened", check: txWaitBound},
		{Name: "tx/wait-context", Promise: 8, Says: "it stops waiting when its context ends, and nothing happened", check: txWaitContext},
		{Name: "tx/wait-without-transaction", Promise: 1, Says: "a claim without a transaction waits for one too, or takes the key away: never both hold it", check: txWaitWithout},
		{Name: "tx/wait-other-key", Promise: 5, Says: "transactions of other keys do not wait", check: txWaitOtherKey, writers: 2},
	}
}

func txWaitCommit(c *txCheck) {
	p, tx, _ := c.txClaimed("a")
	c.insert(tx, "a")
	second := c.meanwhile(c.ctx, by("second", p), txWait, nil)
	c.commit(tx, completed("answer"))
	c.wait(second)
	c.wantErr("the waiter must get the record", second.err, nil)
	if second.won {
		c.fail("only one must win", "both won", "one")
	}
	c.equal("the waiter must get the present record", second.rec, c.lookup(p.Digest))
	c.equal("the waiter must get the outcome", string(second.rec.Outcome), "answer")
	c.rows("the holder's row must be there once", "a", 1)
}

func txWaitRollback(c *txCheck) {
	p, tx, rec := c.txClaimed("a")
	c.insert(tx, "a")
	second := c.meanwhile(c.ctx, by("second", p), txWait, func(tx semel.Tx) error {
		return errors.Join(c.db.Insert(tx.Context(c.ctx), "b"), tx.Commit(c.ctx, completed("second answer")))
	})
	c.rollback(tx)
	c.wait(second)
	c.wantErr("the waiter must be able to go on", second.err, nil)
	if !second.won {
		c.fail("the waiter must win when the holder rolls back", describe(second.rec), "won = true")
	}
	c.grows(rec.Fence, second.rec.Fence)
	c.rows("the holder's row must be gone", "a", 0)
	c.rows("the row of the one that waited must be there", "b", 1)
}

func txWaitBound(c *txCheck) {
	p, tx, _ := c.txClaimed("a")
	c.insert(tx, "a")
	second := c.meanwhile(c.ctx, by("second", p), txBrief, nil)
	<-second.done // the holder goes on only when it has given up
	c.wait(second)
	c.wantErr("a wait that was too short must say so", second.err, semel.ErrInFlight)
	c.equal("an error must not come with a win", second.won, false)
	c.commit(tx, completed("answer"))
	c.rows("the holder's row must be there once", "a", 1)
	// What gave up has left no lock behind.
	third := c.meanwhile(c.ctx, by("third", p), txWait, nil)
	c.wait(third)
	c.wantErr("the record must be shown afterwards", third.err, nil)
	c.equal("the present record must be returned", third.rec, c.lookup(p.Digest))
}

func txWaitContext(c *txCheck) {
	p, tx, _ := c.txClaimed("a")
	c.insert(tx, "a")
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	second := c.meanwhile(ctx, by("second", p), txWait, nil)
	cancel()
	<-second.done // the holder goes on only when it has given up
	c.wait(second)
	c.undecidedTx(second.err)
	c.commit(tx, completed("answer"))
	c.rows("the holder's row must be there once", "a", 1)
}

func txWaitWithout(c *txCheck) {
	for i, keep := range []bool{true, false} {
		p, tx, _ := c.txClaimed(fmt.Sprint("a", i))
		c.insert(tx, p.Name)
		var (
			rec  semel.Record
			won  bool
			err  error
			done = make(chan struct{})
		)
		go func() {
			defer close(done)
			rec, won, err = c.Store.Claim(c.ctx, by("second", p))
		}()
		c.Cleanup(func() { <-done })
		c.grace(txGrace, done)
		ended := semel.ErrRolledBack
		if keep {
			ended = tx.Commit(c.ctx, completed("answer"))
		}
		c.rollback(tx)
		<-done
		c.wantErr("a claim without a transaction must get an answer", err, nil)
		stands := c.lookup(p.Digest)
		c.equal("it must get the present record", rec, stands)
		switch {
		case ended == nil && !won:
			c.rows("the row of the transaction that has committed must be there", p.Name, 1)
			c.equal("the outcome must stay", string(stands.Outcome), "answer")
		case errors.Is(ended, semel.ErrLost) && keep && won, !keep && won:
			c.rows("the row of the transaction that has not committed must be gone", p.Name, 0)
			if stands.State != semel.StateClaimed || stands.Owner != owner("second") {
				c.fail("the claim must stay", describe(stands), "claimed by the second")
			}
		default:
			c.fail("exactly one of both must have the key, and the transaction that lost it must get ErrLost",
				fmt.Sprintf("commit: %v, the other won: %v", ended, won), "one")
		}
	}
}

func txWaitOtherKey(c *txCheck) {
	if c.db.Connections < 2 {
		c.Skip("there is one connection")
	}
	first, a := c.txWins("an absent intent must be won", c.params("a"))
	second, b := c.txWins("another intent must be won meanwhile", c.params("b"))
	if a.Fence == b.Fence {
		c.fail("a fence must not be given twice", b.Fence, "another one")
	}
	c.insert(first, "a")
	c.insert(second, "b")
	c.commit(second, completed("answer b"))
	c.rows("only what was committed must be visible", "a", 0)
	c.rows("what was committed must be visible", "b", 1)
	c.absent("the first must not be committed by the second", a.Digest)
	rec := c.wins("a claim of a third intent must be won meanwhile", c.params("c"))
	c.settle("and settled", rec, completed("answer c"), nil)
	c.commit(first, completed("answer a"))
	for _, name := range []string{"a", "b", "c"} {
		if got := string(c.lookup(c.params(name).Digest).Outcome); got != "answer "+name {
			c.fail("every outcome must be its own", got, "answer "+name)
		}
	}
}
