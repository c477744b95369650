package storetest

import (
	"math"
	"time"

	"github.com/semel-dev/semel"
)

func expiryRules() []storeRule {
	states := []semel.State{semel.StateClaimed, semel.StateCompleted, semel.StateUnknown, semel.StateCancelled}
	rules := make([]storeRule, 0, 2*len(states)+1)
	for _, state := range states {
		rules = append(rules,
			storeRule{
				Name: "expiry/" + state.String(), Promise: 2, check: expires(state, false),
				Says: "a " + state.String() + " record exists before ExpiresAt, and is absent to every verb from then on",
			},
			storeRule{
				Name: "expiry/" + state.String() + "-swept", Promise: 2, check: expires(state, true), needs: needSweeper,
				Says: "sweeping changes nothing about when a " + state.String() + " record expires",
			},
		)
	}
	return append(rules, storeRule{
		Name: "expiry/longest", Promise: 2, check: longest,
		Says: "the longest lease and retention do not overflow",
	}, storeRule{
		Name: "expiry/takeover-absent", Promise: 2, check: expiredTakeOver,
		Says: "an expired record cannot be taken over; it is won as a first attempt",
	})
}

func expires(state semel.State, swept bool) func(*check) {
	return func(c *check) {
		c.expires(state, swept, "won", func(rec semel.Record) {
			again := c.wins("an expired intent must be won", c.params("won"))
			c.grows(rec.Fence, again.Fence)
			c.equal("an expired intent must be claimed as a first attempt", again.Attempt, 1)
		})
		c.expires(state, swept, "looked up", func(rec semel.Record) {
			c.absent("an expired intent must be absent", rec.Digest)
		})
		c.expires(state, swept, "renewed", func(rec semel.Record) {
			c.renew("an expired intent must not be renewed", rec, semel.ErrLost)
			c.absent("a refused renewal must change nothing", rec.Digest)
		})
		for name, to := range settlements() {
			c.expires(state, swept, "settled as "+name, func(rec semel.Record) {
				var want error
				if to.State != semel.StateReleased {
					want = semel.ErrLost
				}
				c.settle("settling an expired intent as "+name, rec, to, want)
				c.absent("a refused settlement must change nothing", rec.Digest)
			})
		}
	}
}

// expires makes a record in the given state, checks that it exists until it
// expires, and then calls the caller's check.
func (c *check) expires(state semel.State, swept bool, name string, then func(semel.Record)) {
	c.Helper()
	p, rec := c.claimed(name)
	if state != semel.StateClaimed {
		to := settleOf(state)
		to.Retention = 7 * time.Hour
		c.settle("a held claim must be settled", rec, to, nil)
	}
	stands := c.lookup(p.Digest)
	c.Advance(stands.RetentionLeft() - c.margin())
	if swept {
		c.sweep()
	}
	c.equal("a record must be there until it expires", c.lookup(p.Digest), stands)
	c.Advance(c.margin())
	if swept {
		c.sweep()
	}
	then(rec)
}

func longest(c *check) {
	const most = time.Duration(math.MaxInt64 / int64(time.Millisecond) * int64(time.Millisecond))
	p := c.params("a")
	p.Lease, p.Retention = most, most
	rec := c.wins("an absent intent must be won", p)
	c.equal("a claim must say when it ends", rec.ExpiresAt, rec.ClaimedAt.Add(most).Add(most))
	c.equal("Lookup must return what Claim returned", c.lookup(p.Digest), rec)
	c.wantErr("a held claim must be renewed", c.Store.Renew(c.ctx, rec.Digest, rec.Fence, most), nil)
	to := completed("answer")
	to.Retention = most
	c.settle("a held claim must be settled", rec, to, nil)
	settled := c.lookup(p.Digest)
	c.equal("a settled record must say when it expires", settled.ExpiresAt, settled.SettledAt.Add(most))
}

func expiredTakeOver(c *check) {
	p, rec := c.claimed("a")
	c.settle("a held claim must be settled", rec, unknown("crash"), nil)
	c.expire(p.Digest)
	again := c.wins("an expired intent must be won with TakeOver set", takingOver(rec.Fence, by("second", p)))
	c.grows(rec.Fence, again.Fence)
	c.equal("an expired intent must be claimed as a first attempt", again.Attempt, 1)
}
