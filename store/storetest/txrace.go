package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/semel-dev/semel"
)

const txRacers = 16

func txRaceRules() []txRule {
	return []txRule{
		{Name: "tx/race", Promise: 1, Says: "of many transactions on one key exactly one commits, and all others are shown its outcome", check: txRace},
		{Name: "tx/race-rollback", Promise: 3, Says: "the same holds when the first winners roll back", check: txRaceRollback},
		{Name: "tx/race-keys", Promise: 1, Says: "transactions of many keys at once share no fence and lose no row", check: txRaceKeys},
	}
}

// racer is one of many transactions on a key.
type racer struct {
	outcome string
	won     bool
	err     error
}

// raceTx lets many transactions claim one key at once, over both pools. The
// first giveUp winners roll back and try again.
func (c *txCheck) raceTx(p semel.ClaimParams, giveUp int64) []racer {
	c.Helper()
	var wins atomic.Int64
	racers := make([]racer, txRacers)
	race(txRacers, func(i int) {
		t := c.db.Transactor
		if i%2 == 1 {
			t = c.db.Second
		}
		p := by(fmt.Sprint("racer ", i), p)
		for again := true; again && racers[i].err == nil; {
			racers[i], again = c.raceOnce(t, p, func() bool { return wins.Add(1) <= giveUp })
		}
	})
	return racers
}

// raceOnce is one transaction; again says that it gave up what it had won.
func (c *txCheck) raceOnce(t semel.Transactor, p semel.ClaimParams, giveUp func() bool) (r racer, again bool) {
	tx, err := t.Transaction(c.ctx)
	if err != nil {
		return racer{err: fmt.Errorf("open: %w", err)}, false
	}
	defer func() { r.err = errors.Join(r.err, tx.Rollback()) }()
	rec, won, err := tx.Claim(c.ctx, p, txWait)
	switch {
	case err != nil:
		return racer{err: fmt.Errorf("claim: %w", err)}, false
	case !won:
		return racer{outcome: string(rec.Outcome)}, false
	}
	if err := c.db.Insert(tx.Context(c.ctx), p.Name); err != nil {
		return racer{err: fmt.Errorf("insert: %w", err)}, false
	}
	c.grace(txHold, nil)
	if giveUp() {
		return racer{}, true
	}
	outcome := fmt.Sprintf("answer of %x under %d", p.Owner[:4], rec.Fence)
	if err := tx.Commit(c.ctx, completed(outcome)); err != nil {
		return racer{err: fmt.Errorf("commit: %w", err)}, false
	}
	return racer{outcome: outcome, won: true}, false
}

// oneWinner fails unless exactly one has committed and all know its outcome.
func (c *txCheck) oneWinner(p semel.ClaimParams, racers []racer) {
	c.Helper()
	stands := string(c.lookup(p.Digest).Outcome)
	winners := 0
	for _, r := range racers {
		c.wantErr("no transaction must fail", r.err, nil)
		if r.won {
			winners++
		}
		c.equal("all must get the one outcome", r.outcome, stands)
	}
	c.equal("exactly one must commit", winners, 1)
	c.rows("the winner's row must be there once", p.Name, 1)
}

func txRace(c *txCheck) {
	for i := range 3 {
		p := c.params(fmt.Sprint("a", i))
		c.oneWinner(p, c.raceTx(p, 0))
	}
}

func txRaceRollback(c *txCheck) {
	p := c.params("a")
	c.oneWinner(p, c.raceTx(p, 6))
}

func txRaceKeys(c *txCheck) {
	const keys = 4
	pools := []semel.Transactor{c.db.Transactor, c.db.Second}
	c.raceKeys(txRacers, keys, func(i int, p semel.ClaimParams) (semel.Fence, error) {
		r, _ := c.raceOnce(pools[i%2], p, func() bool { return false })
		rec, err := c.Store.Lookup(c.ctx, p.Digest)
		return rec.Fence, errors.Join(r.err, err, wonOr(r.won))
	})
	for i := range txRacers * keys {
		c.rows("every row must be there", fmt.Sprint(i/keys, "/", i%keys), 1)
	}
}
