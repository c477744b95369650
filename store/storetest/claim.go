package storetest

import (
	"strings"
	"time"

	"github.com/semel-dev/semel"
)

func claimRules() []storeRule {
	return []storeRule{
		{Name: "claim/absent", Promise: 1, Says: "an absent intent is won, and the record holds what was claimed", check: claimAbsent},
		{Name: "claim/live", Promise: 1, Says: "a live claim is not won by another attempt", check: claimLive},
		{Name: "claim/same-owner", Promise: 1, Says: "a repeated Claim of the same attempt is won again, and changes nothing", check: claimSameOwner},
		{Name: "claim/no-owner", Promise: 1, Says: "the zero Owner means none, so it is never recognised", check: claimNoOwner, needs: needReliable},
		{Name: "claim/lapsed", Promise: 3, Says: "a lapsed claim is given only to a caller that asks to take it over", check: claimLapsed},
		{Name: "claim/lapsed-same-owner", Promise: 3, Says: "a lapsed claim is not handed back to its owner either", check: claimLapsedSameOwner},
		{Name: "claim/completed", Promise: 2, Says: "a completed intent is not won again, not even by its owner, and shows its outcome", check: claimSettled(completed("answer"))},
		{Name: "claim/unknown", Promise: 3, Says: "an unknown intent is not won unless it is taken over", check: claimSettled(unknown("crash"))},
		{Name: "claim/cancelled", Promise: 3, Says: "a cancelled intent is not won", check: claimSettled(cancelled("not wanted"))},
		{Name: "claim/fingerprint", Promise: 6, Says: "a Claim with another fingerprint changes nothing", check: claimFingerprint},
		{Name: "claim/digest", Promise: 5, Says: "the digest alone is the identity", check: claimDigest},
		{Name: "claim/similar-digests", Promise: 5, Says: "digests that differ in one bit are two intents", check: claimSimilarDigests},
		{Name: "claim/invalid", Says: "invalid parameters are refused and change nothing", check: claimInvalid},
	}
}

func claimAbsent(c *check) {
	p, rec := c.claimed("a")
	if rec.Fence == 0 {
		c.fail("a won claim must have a fence", rec.Fence, "> 0")
	}
	c.equal("the record must hold what was claimed", rec, semel.Record{
		Digest:      p.Digest,
		Scope:       p.Scope,
		Name:        p.Name,
		Fingerprint: p.Fingerprint,
		State:       semel.StateClaimed,
		Fence:       rec.Fence,
		Owner:       p.Owner,
		Attempt:     1,
		ClaimedAt:   rec.ClaimedAt,
		LeaseUntil:  rec.ClaimedAt.Add(p.Lease),
		ExpiresAt:   rec.ClaimedAt.Add(p.Lease).Add(p.Retention),
	})
	c.equal("Lookup must return what Claim returned", c.lookup(p.Digest), rec)
}

func claimLive(c *check) {
	p, rec := c.claimed("a")
	c.loses("a live claim must not be won by another owner", by("second", p), rec)
	c.Advance(lease - c.margin())
	c.loses("a live claim must not be won just before its lease ends", by("second", p), rec)
}

func claimSameOwner(c *check) {
	p, rec := c.claimed("a")
	c.Advance(lease / 2)
	again := p
	again.Lease, again.Retention = 2*lease, 2*retention
	c.equal("the repetition must return the present record, its lease not extended",
		c.wins("the same owner must be recognised while the claim is live", again), rec)
	c.equal("the repetition must change nothing", c.lookup(p.Digest), rec)
}

func claimNoOwner(c *check) {
	p := c.params("a")
	p.Owner = semel.Owner{}
	rec := c.wins("an absent intent must be won", p)
	c.loses("the zero Owner must not be recognised as the holder", p, rec)
}

func claimLapsed(c *check) {
	p, rec := c.claimed("a")
	c.lapse(p.Digest)
	c.loses("a lapsed claim must not be handed to another owner that does not take it over", by("second", p), rec)
	if found := c.lookup(p.Digest); !found.Lapsed() {
		c.fail("a claim must have lapsed when its lease is over", found.LeaseLeft(), "0 left")
	}
}

func claimLapsedSameOwner(c *check) {
	p, rec := c.claimed("a")
	c.lapse(p.Digest)
	c.loses("a lapsed claim must not be handed back to its owner", p, rec)
}

// claimSettled is about an intent that was settled, and is not taken over.
func claimSettled(to semel.Settlement) func(*check) {
	return func(c *check) {
		p, rec := c.claimed("a")
		c.settle("a held claim must be settled", rec, to, nil)
		stands := c.lookup(p.Digest)
		c.loses("a settled intent must not be won without TakeOver", by("second", p), stands)
		c.loses("a settled intent must not be won by its own owner", p, stands)
		c.equal("the outcome must be shown", []any{string(stands.Outcome), stands.Kept}, []any{string(to.Outcome), to.Kept})
	}
}

func claimFingerprint(c *check) {
	p, rec := c.claimed("a")
	other := by("second", p)
	other.Fingerprint = semel.FingerprintOf("something else")
	c.loses("another fingerprint must not win", other, rec)
	c.settle("a held claim must be settled", rec, completed("answer"), nil)
	c.loses("another fingerprint must not win a completed intent", other, c.lookup(p.Digest))
}

func claimDigest(c *check) {
	p, rec := c.claimed("a")
	other := by("second", p)
	other.Scope, other.Name = "another scope", "another name"
	c.loses("the same digest must be the same intent, whatever scope and name say", other, rec)

	twin := by("second", p)
	twin.Digest = semel.Key{Scope: "another scope", Name: p.Name}.Digest()
	c.wins("another digest must be another intent, whatever scope and name say", twin)
	c.equal("the claim of another intent must change nothing", c.lookup(p.Digest), rec)
}

func claimSimilarDigests(c *check) {
	var base semel.Digest
	digests := []semel.Digest{base}
	for _, at := range []int{0, 1, 15, 30, 31} {
		for _, bit := range []byte{0x01, 0x20, 0x80, 0xFF} {
			d := base
			d[at] ^= bit
			digests = append(digests, d)
		}
	}
	seen := map[semel.Fence]semel.Digest{}
	for i, d := range digests {
		p := c.params("similar")
		p.Digest = d
		rec := c.wins("a digest that differs must be an intent of its own", p)
		if twin, ok := seen[rec.Fence]; ok {
			c.fail("two digests must not share a claim", twin, d)
		}
		seen[rec.Fence] = d
		c.settle("a held claim must be settled", rec, completed(strings.Repeat("x", i)), nil)
	}
	for i, d := range digests {
		if got := c.lookup(d); len(got.Outcome) != i || got.Digest != d {
			c.fail("each digest must have its own outcome", len(got.Outcome), i)
		}
	}
}

func claimInvalid(c *check) {
	for name, spoil := range map[string]func(*semel.ClaimParams){
		"no lease":            func(p *semel.ClaimParams) { p.Lease = 0 },
		"negative lease":      func(p *semel.ClaimParams) { p.Lease = -lease },
		"lease below 1 ms":    func(p *semel.ClaimParams) { p.Lease = time.Millisecond - 1 },
		"no retention":        func(p *semel.ClaimParams) { p.Retention = 0 },
		"scope above maximum": func(p *semel.ClaimParams) { p.Scope = strings.Repeat("s", semel.MaxScopeBytes+1) },
		"name above maximum":  func(p *semel.ClaimParams) { p.Name = strings.Repeat("n", semel.MaxKeyBytes+1) },
	} {
		p := c.params(name)
		spoil(&p)
		_, won, err := c.Store.Claim(c.ctx, p)
		if err == nil || won {
			c.fail("invalid parameters must be refused: "+name, err, "an error")
		}
		c.absent("invalid parameters must change nothing: "+name, p.Digest)
	}
}
