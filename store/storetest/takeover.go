package storetest

import (
	"math"

	"github.com/semel-dev/semel"
)

func takeOverRules() []storeRule {
	return []storeRule{
		{Name: "claim/takeover-lapsed", Promise: 1, Says: "a lapsed claim can be taken over by its fence, with a greater one", check: takeOverLapsed},
		{Name: "claim/takeover-boundary", Promise: 9, Says: "a claim lapses exactly when its lease ends by the store's clock", check: takeOverBoundary},
		{Name: "claim/takeover-unknown", Promise: 3, Says: "an unknown intent can be taken over by its fence, and nothing of it is kept", check: takeOverUnknown},
		{Name: "claim/takeover-repeated", Promise: 1, Says: "a repeated takeover of the same attempt is won again, and changes nothing", check: takeOverRepeated},
		{Name: "claim/takeover-stale", Promise: 1, Says: "a takeover with another fence than the record's is refused", check: takeOverStale},
		{Name: "claim/takeover-live", Promise: 1, Says: "a live claim cannot be taken over", check: takeOverLive},
		{Name: "claim/takeover-renewed", Promise: 1, Says: "a claim that lapsed and was renewed is live", check: takeOverRenewed},
		{Name: "claim/takeover-completed", Promise: 2, Says: "a completed intent cannot be taken over", check: takeOverSettled(completed("answer"))},
		{Name: "claim/takeover-cancelled", Promise: 3, Says: "a cancelled intent cannot be taken over", check: takeOverSettled(cancelled("not wanted"))},
		{Name: "claim/takeover-absent", Promise: 1, Says: "an absent intent is won as a first attempt, whatever TakeOver says", check: takeOverAbsent},
	}
}

// taken returns the record as it must be after p took over the former one.
func taken(p semel.ClaimParams, former, now semel.Record) semel.Record {
	return semel.Record{
		Digest:      p.Digest,
		Scope:       p.Scope,
		Name:        p.Name,
		Fingerprint: p.Fingerprint,
		State:       semel.StateClaimed,
		Fence:       now.Fence,
		Owner:       p.Owner,
		Attempt:     former.Attempt + 1,
		ClaimedAt:   now.ClaimedAt,
		LeaseUntil:  now.ClaimedAt.Add(p.Lease),
		ExpiresAt:   now.ClaimedAt.Add(p.Lease).Add(p.Retention),
	}
}

func takeOverLapsed(c *check) {
	p, former := c.claimed("a")
	for _, who := range []string{"second", "third", "first"} {
		c.lapse(p.Digest)
		q := takingOver(former.Fence, by(who, p))
		q.Fingerprint = semel.FingerprintOf(who)
		q.Lease, q.Retention = 2*lease, 3*retention
		rec := c.wins("a lapsed claim must be won by taking it over", q)
		c.grows(former.Fence, rec.Fence)
		c.equal("a takeover must keep nothing but count the attempt on", rec, taken(q, former, rec))
		c.equal("Lookup must return what Claim returned", c.lookup(p.Digest), rec)
		if !rec.ClaimedAt.After(former.ClaimedAt) {
			c.fail("ClaimedAt must be when the present fence was given", rec.ClaimedAt, former.ClaimedAt)
		}
		former = rec
	}
}

func takeOverBoundary(c *check) {
	p, rec := c.claimed("a")
	q := takingOver(rec.Fence, by("second", p))
	c.Advance(lease - c.margin())
	c.loses("a claim must not lapse before its lease ends", q, rec)
	c.Advance(c.margin())
	c.wins("a claim must have lapsed when its lease ends", q)
}

func takeOverUnknown(c *check) {
	p, former := c.claimed("a")
	c.settle("a held claim must be settled", former, unknown("the upstream hung up"), nil)
	q := takingOver(former.Fence, by("second", p))
	rec := c.wins("an unknown intent must be won by taking it over", q)
	c.grows(former.Fence, rec.Fence)
	c.equal("a takeover must keep nothing but count the attempt on", rec, taken(q, former, rec))
	c.equal("Lookup must return what Claim returned", c.lookup(p.Digest), rec)
}

func takeOverRepeated(c *check) {
	p, former := c.claimed("a")
	c.lapse(p.Digest)
	q := takingOver(former.Fence, by("second", p))
	rec := c.wins("a lapsed claim must be won by taking it over", q)
	c.equal("the repeated takeover must return the present record",
		c.wins("the same owner must be recognised while the claim is live", q), rec)
	c.loses("the former owner's takeover must be refused", takingOver(former.Fence, p), rec)
}

func takeOverStale(c *check) {
	p, first := c.claimed("a")
	for _, f := range []semel.Fence{first.Fence + 1, first.Fence - 1, first.Fence << 1, 1<<63 + first.Fence, math.MaxUint64} {
		c.lapse(p.Digest)
		c.loses("a takeover with another fence must be refused", takingOver(f, by("second", p)), first)
	}
	second := c.wins("a lapsed claim must be won by taking it over", takingOver(first.Fence, by("second", p)))
	c.lapse(p.Digest)
	c.loses("a takeover with a former fence must be refused", takingOver(first.Fence, by("third", p)), second)
	c.settle("a lapsed claim must be settled by its fence", second, unknown("crash"), nil)
	c.loses("a takeover of an unknown intent with a former fence must be refused",
		takingOver(first.Fence, by("third", p)), c.lookup(p.Digest))
}

func takeOverLive(c *check) {
	p, rec := c.claimed("a")
	c.loses("a live claim must not be taken over", takingOver(rec.Fence, by("second", p)), rec)
	c.equal("the owner's own takeover of a live claim must be a repetition",
		c.wins("the same owner must be recognised while the claim is live", takingOver(rec.Fence, p)), rec)
}

func takeOverRenewed(c *check) {
	p, rec := c.claimed("a")
	c.lapse(p.Digest)
	c.renew("a lapsed claim must be renewed by its fence", rec, nil)
	c.loses("a renewed claim must not be taken over", takingOver(rec.Fence, by("second", p)), c.lookup(p.Digest))
}

// takeOverSettled is about an intent that was settled for good.
func takeOverSettled(to semel.Settlement) func(*check) {
	return func(c *check) {
		p, rec := c.claimed("a")
		c.settle("a held claim must be settled", rec, to, nil)
		c.Advance(2 * lease)
		stands := c.lookup(p.Digest)
		c.loses("a settled intent must not be taken over", takingOver(rec.Fence, by("second", p)), stands)
		c.loses("a settled intent must not be taken over by its owner", takingOver(rec.Fence, p), stands)
	}
}

func takeOverAbsent(c *check) {
	p := takingOver(12345, c.params("a"))
	rec := c.wins("an absent intent must be won with TakeOver set", p)
	c.equal("an absent intent must be claimed as a first attempt", rec.Attempt, 1)
	c.settle("a held claim must be released", rec, released(), nil)
	again := c.wins("a released intent must be won with TakeOver set", takingOver(rec.Fence, by("second", p)))
	c.equal("a released intent must be claimed as a first attempt", again.Attempt, 1)
}
