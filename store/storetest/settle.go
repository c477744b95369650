package storetest

import (
	"math"

	"github.com/semel-dev/semel"
)

func settleRules() []storeRule {
	return []storeRule{
		{Name: "settle/completed", Promise: 2, Says: "a completed intent keeps its outcome, for the retention from now", check: settleKeeps(semel.StateCompleted)},
		{Name: "settle/unknown", Promise: 3, Says: "an unknown intent is remembered as such", check: settleKeeps(semel.StateUnknown)},
		{Name: "settle/cancelled", Promise: 3, Says: "a cancelled intent is remembered as such", check: settleKeeps(semel.StateCancelled)},
		{Name: "settle/not-kept", Promise: 3, Says: "an outcome that was not kept is distinguished from one that was", check: settleNotKept},
		{Name: "settle/released", Promise: 3, Says: "a released intent is absent at once and can be won as a first attempt", check: settleReleased},
		{Name: "settle/lapsed", Promise: 1, Says: "a lapsed claim that was not taken over can be settled", check: settleLapsed},
		{Name: "settle/stale", Promise: 1, Says: "a former holder's settlement is refused in every state", check: settleStale},
		{Name: "settle/wrong-fence", Promise: 1, Says: "a settlement with a fence that is not the claim's is refused", check: settleWrongFence},
		{Name: "settle/absent", Promise: 1, Says: "an absent intent cannot be settled, but can be released", check: settleAbsent},
		{Name: "settle/invalid", Says: "an invalid settlement is refused and changes nothing", check: settleInvalid},
	}
}

func resettleRules() []storeRule {
	return []storeRule{
		{Name: "settle/repeated", Promise: 2, Says: "the same settlement again changes nothing and returns nil", check: settleRepeated},
		{Name: "settle/otherwise", Promise: 2, Says: "a completed or cancelled intent is not settled otherwise", check: settleOtherwise},
		{Name: "settle/release-settled", Promise: 2, Says: "a completed or cancelled intent is not released", check: settleReleaseSettled},
		{Name: "settle/unknown-resolved", Promise: 3, Says: "an unknown intent can be settled by its fence when the truth is found", check: settleUnknownResolved},
	}
}

// settleOf is a settlement in the given state.
func settleOf(state semel.State) semel.Settlement {
	if state == semel.StateCompleted {
		return completed("answer")
	}
	return semel.Settlement{State: state, Note: "a reason", Retention: retention}
}

func settleKeeps(state semel.State) func(*check) {
	return func(c *check) {
		p, rec := c.claimed("a")
		c.Advance(lease / 2)
		to := settleOf(state)
		to.Note, to.Kept = "a reason", true
		c.settle("a held claim must be settled", rec, to, nil)
		found := c.lookup(p.Digest)
		want := rec
		want.State, want.Outcome, want.Kept, want.Note = to.State, to.Outcome, state == semel.StateCompleted, to.Note
		want.SettledAt, want.LeaseUntil = found.SettledAt, found.LeaseUntil
		want.ExpiresAt = found.SettledAt.Add(retention)
		c.equal("the record must hold what was settled, and expire a retention later", found, want)
		c.near("SettledAt must be when it was settled", found.SettledAt.Sub(rec.ClaimedAt), lease/2)
	}
}

func settleNotKept(c *check) {
	for name, to := range map[string]semel.Settlement{
		"nothing":  {State: semel.StateCompleted, Retention: retention},
		"the head": {State: semel.StateCompleted, Outcome: []byte("201 Created"), Retention: retention},
	} {
		rec := c.wins("an absent intent must be won", c.params(name))
		c.settle("a held claim must be settled", rec, to, nil)
		found := c.lookup(rec.Digest)
		c.equal("an outcome that was not kept must not be said to be", found.Kept, false)
		c.equal("what is known of the answer must be kept", string(found.Outcome), string(to.Outcome))
	}
}

func settleReleased(c *check) {
	p, rec := c.claimed("a")
	c.settle("a held claim must be released", rec, released(), nil)
	c.absent("a released intent must be absent at once", p.Digest)
	c.settle("the same release again must return nil", rec, released(), nil)
	c.settle("a released claim must not be completed", rec, completed("late"), semel.ErrLost)
	again := c.wins("a released intent must be won", by("second", p))
	c.equal("a released intent must be claimed as a first attempt", again.Attempt, 1)
	c.grows(rec.Fence, again.Fence)
	c.settle("a former holder's release must be refused", rec, released(), semel.ErrLost)
	c.equal("a refused release must change nothing", c.lookup(p.Digest), again)
}

func settleLapsed(c *check) {
	for name, to := range settlements() {
		p, rec := c.claimed(name)
		c.lapse(p.Digest)
		c.settle("a lapsed claim must be settled by its fence: "+name, rec, to, nil)
		if to.State == semel.StateReleased {
			c.absent("a released intent must be absent at once", p.Digest)
			continue
		}
		c.equal("the record must hold what was settled", c.lookup(p.Digest).State, to.State)
	}
}

// settlements are one of each kind, by name.
func settlements() map[string]semel.Settlement {
	return map[string]semel.Settlement{
		"completed": completed("late answer"),
		"released":  released(),
		"unknown":   unknown("late note"),
		"cancelled": cancelled("late note"),
	}
}

func settleStale(c *check) {
	p, former := c.claimed("a")
	c.lapse(p.Digest)
	rec := c.wins("a lapsed claim must be won by taking it over", takingOver(former.Fence, by("second", p)))
	refuse := func(stands semel.Record) {
		c.Helper()
		for name, to := range settlements() {
			c.settle("a former holder's settlement must be refused: "+name, former, to, semel.ErrLost)
			c.equal("a refused settlement must change nothing: "+name, c.lookup(p.Digest), stands)
		}
	}
	refuse(rec)
	c.settle("a held claim must be settled", rec, unknown("crash"), nil)
	refuse(c.lookup(p.Digest))
	c.settle("an unknown intent must be settled by its fence", rec, completed("answer"), nil)
	refuse(c.lookup(p.Digest))
}

func settleWrongFence(c *check) {
	for state, rec := range c.held() {
		for _, f := range []semel.Fence{0, rec.Fence - 1, rec.Fence + 100, 1<<63 + rec.Fence, math.MaxUint64} {
			for name, to := range settlements() {
				err := c.Store.Settle(c.ctx, rec.Digest, f, to)
				c.wantErr("a settlement with another fence must be refused: "+state+" to "+name, err, semel.ErrLost)
			}
		}
		c.equal("a refused settlement must change nothing: "+state, c.lookup(rec.Digest), rec)
	}
}

func settleAbsent(c *check) {
	p := c.params("a")
	for name, to := range settlements() {
		var want error
		if to.State != semel.StateReleased {
			want = semel.ErrLost
		}
		for _, f := range []semel.Fence{0, 1, 1 << 40} {
			c.wantErr("settling an absent intent: "+name, c.Store.Settle(c.ctx, p.Digest, f, to), want)
		}
		c.absent("settling an absent intent must change nothing", p.Digest)
	}
}

func settleInvalid(c *check) {
	p, rec := c.claimed("a")
	note := make([]byte, semel.MaxNoteBytes+1)
	for i := range note {
		note[i] = 'n'
	}
	for name, to := range map[string]semel.Settlement{
		"no state":        {Retention: retention},
		"claimed":         {State: semel.StateClaimed, Retention: retention},
		"a made-up state": {State: 77, Retention: retention},
		"no retention":    {State: semel.StateCompleted},
		"a long note":     {State: semel.StateUnknown, Note: string(note), Retention: retention},
	} {
		if err := c.Store.Settle(c.ctx, rec.Digest, rec.Fence, to); err == nil {
			c.fail("an invalid settlement must be refused: "+name, err, "an error")
		}
		c.equal("a refused settlement must change nothing: "+name, c.lookup(p.Digest), rec)
	}
}

func settleRepeated(c *check) {
	for name, to := range settlements() {
		rec := c.wins("an absent intent must be won", c.params(name))
		c.settle("a held claim must be settled: "+name, rec, to, nil)
		if to.State == semel.StateReleased {
			c.settle("a repeated release must return nil", rec, to, nil)
			continue
		}
		stands := c.lookup(rec.Digest)
		c.Advance(lease)
		again := to
		again.Note, again.Retention = "another note", 2*retention
		c.settle("the same settlement again must return nil: "+name, rec, again, nil)
		c.equal("a repeated settlement must change nothing: "+name, c.lookup(rec.Digest), stands)
	}
}

func settleOtherwise(c *check) {
	others := map[string]semel.Settlement{
		"another outcome":   completed("another answer"),
		"no outcome":        completed(""),
		"a longer outcome":  completed("answer!"),
		"the same not kept": {State: semel.StateCompleted, Outcome: []byte("answer"), Retention: retention},
		"unknown":           unknown("note"),
		"cancelled":         cancelled("note"),
	}
	p, rec := c.claimed("completed")
	c.settle("a held claim must be settled", rec, completed("answer"), nil)
	stands := c.lookup(p.Digest)
	for name, to := range others {
		c.settle("a completed intent must not be settled otherwise: "+name, rec, to, semel.ErrSettled)
		c.equal("a refused settlement must change nothing: "+name, c.lookup(p.Digest), stands)
	}

	p = c.params("cancelled")
	rec = c.wins("an absent intent must be won", p)
	c.settle("a held claim must be settled", rec, cancelled("note"), nil)
	stands = c.lookup(p.Digest)
	for _, to := range []semel.Settlement{completed("answer"), unknown("note")} {
		c.settle("a cancelled intent must not be settled otherwise", rec, to, semel.ErrSettled)
		c.equal("a refused settlement must change nothing", c.lookup(p.Digest), stands)
	}
}

func settleReleaseSettled(c *check) {
	for _, to := range []semel.Settlement{completed("answer"), cancelled("note")} {
		rec := c.wins("an absent intent must be won", c.params(to.State.String()))
		c.settle("a held claim must be settled", rec, to, nil)
		stands := c.lookup(rec.Digest)
		c.settle("a settled intent must not be released: "+to.State.String(), rec, released(), semel.ErrSettled)
		c.equal("a refused release must change nothing", c.lookup(rec.Digest), stands)
	}
}

func settleUnknownResolved(c *check) {
	for name, to := range settlements() {
		p, rec := c.claimed(name)
		c.settle("a held claim must be settled", rec, unknown("crash"), nil)
		first := c.lookup(p.Digest)
		c.Advance(lease)
		c.settle("an unknown intent must be settled by its fence: "+name, rec, to, nil)
		switch to.State {
		case semel.StateReleased:
			c.absent("a released intent must be absent at once", p.Digest)
		case semel.StateUnknown:
			c.equal("a repeated settlement must change nothing", c.lookup(p.Digest), first)
		case semel.StateCompleted, semel.StateCancelled, semel.StateAbsent, semel.StateClaimed, semel.StateFailed, semel.StateUnreadable:
			want := first
			want.State, want.Outcome, want.Kept, want.Note = to.State, to.Outcome, to.Kept, to.Note
			found := c.lookup(p.Digest)
			want.SettledAt, want.ExpiresAt = found.SettledAt, found.SettledAt.Add(retention)
			c.equal("the record must hold what was settled last: "+name, found, want)
			c.near("SettledAt must be when it was settled last", found.SettledAt.Sub(first.SettledAt), lease)
		}
	}
}
