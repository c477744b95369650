package storetest

import (
	"math"
	"time"

	"github.com/semel-dev/semel"
)

func fenceRules() []storeRule {
	return []storeRule{
		{Name: "fence/grows-across-keys", Promise: 1, Says: "every won claim has a greater fence than every one before it", check: fenceAcrossKeys},
		{Name: "fence/grows-after-release", Promise: 1, Says: "a released claim's fence is not given again", check: fenceAfterRelease},
		{Name: "fence/grows-after-expiry", Promise: 1, Says: "an expired record's fence is not given again, swept or not", check: fenceAfterExpiry},
		{Name: "fence/grows-after-reopen", Promise: 1, Says: "a restart gives no fence again, even when nothing is left", check: fenceAfterReopen},
	}
}

func fenceAcrossKeys(c *check) {
	var last semel.Fence
	for range 3 {
		for _, name := range []string{"a", "b", "c", "d"} {
			p := c.params(name)
			if last != 0 {
				if rec, err := c.Store.Lookup(c.ctx, p.Digest); err == nil {
					p.TakeOver = rec.Fence
				}
			}
			rec := c.wins("an absent or lapsed intent must be won", p)
			c.grows(last, rec.Fence)
			last = rec.Fence
		}
		c.Advance(lease)
	}
}

func fenceAfterRelease(c *check) {
	var last semel.Fence
	for range 5 {
		rec := c.wins("a released intent must be won again", c.params("a"))
		c.grows(last, rec.Fence)
		c.settle("a held claim must be released", rec, released(), nil)
		last = rec.Fence
	}
}

func fenceAfterExpiry(c *check) {
	var last semel.Fence
	for i := range 4 {
		rec := c.wins("an expired intent must be won again", c.params("a"))
		c.grows(last, rec.Fence)
		last = rec.Fence
		c.expire(rec.Digest)
		if i%2 == 0 {
			c.sweep()
		}
	}
}

func fenceAfterReopen(c *check) {
	p := c.params("a")
	kept := c.wins("an absent intent must be won", p)
	c.settle("a held claim must be settled", kept, completed("answer"), nil)
	kept = c.lookup(p.Digest)
	last := c.wins("an absent intent must be won", c.params("b"))
	c.settle("a held claim must be released", last, released(), nil)
	c.reopen()
	c.equal("a restart must keep what was settled", c.lookup(p.Digest), kept)
	next := c.wins("a released intent must be won", c.params("b"))
	c.grows(last.Fence, next.Fence)

	c.Advance(3 * retention)
	c.sweep()
	c.reopen()
	c.grows(next.Fence, c.wins("an expired intent must be won", p).Fence)
}

func renewRules() []storeRule {
	return []storeRule{
		{Name: "renew/live", Promise: 9, Says: "a renewal sets lease and expiry by the store's clock, and nothing else", check: renewLive},
		{Name: "renew/shorter", Promise: 9, Says: "a renewal with a shorter lease ends it earlier", check: renewShorter},
		{Name: "renew/lapsed", Promise: 1, Says: "a lapsed claim that was not taken over can be renewed", check: renewLapsed},
		{Name: "renew/stale", Promise: 1, Says: "a former holder's renewal is refused", check: renewStale},
		{Name: "renew/wrong-fence", Promise: 1, Says: "a renewal with a fence that is not the claim's is refused", check: renewWrongFence},
		{Name: "renew/absent", Promise: 1, Says: "an absent intent cannot be renewed", check: renewAbsent},
		{Name: "renew/settled", Promise: 2, Says: "a settled claim cannot be renewed", check: renewSettled},
		{Name: "renew/keeps-alive", Promise: 8, Says: "a claim is remembered for lease and retention after its last renewal", check: renewKeepsAlive},
		{Name: "renew/invalid", Says: "a lease below a millisecond is refused", check: renewInvalid},
	}
}

func renewLive(c *check) {
	p, rec := c.claimed("a")
	c.Advance(lease / 2)
	c.renew("a held claim must be renewed", rec, nil)
	found := c.lookup(p.Digest)
	want := rec
	want.LeaseUntil, want.ExpiresAt = found.LeaseUntil, found.LeaseUntil.Add(p.Retention)
	c.equal("a renewal must move lease and expiry together, and nothing else", found, want)
	c.near("the lease must end a lease from now", found.LeaseLeft(), lease)
	c.Advance(lease - c.margin())
	c.loses("a renewed claim must be live until its lease ends", by("second", p), found)
	c.Advance(c.margin())
	c.wins("a renewed claim must lapse when its lease ends", takingOver(rec.Fence, by("second", p)))
}

func renewShorter(c *check) {
	p, rec := c.claimed("a")
	const short = 10 * time.Minute
	c.wantErr("a held claim must be renewed", c.Store.Renew(c.ctx, rec.Digest, rec.Fence, short), nil)
	found := c.lookup(p.Digest)
	c.near("the lease must end as the renewal says", found.LeaseLeft(), short)
	c.equal("expiry must move along with the lease", found.ExpiresAt, found.LeaseUntil.Add(p.Retention))
	c.expire(p.Digest)
	c.absent("a renewed claim must expire when ExpiresAt says", p.Digest)
}

func renewLapsed(c *check) {
	p, rec := c.claimed("a")
	c.lapse(p.Digest)
	c.Advance(lease)
	c.renew("a lapsed claim must be renewed by its fence", rec, nil)
	found := c.lookup(p.Digest)
	c.near("the lease must end a lease from now", found.LeaseLeft(), lease)
	c.wins("the owner of a renewed claim must be recognised", p)
}

func renewStale(c *check) {
	p, former := c.claimed("a")
	c.lapse(p.Digest)
	rec := c.wins("a lapsed claim must be won by taking it over", takingOver(former.Fence, by("second", p)))
	c.renew("a former holder's renewal must be refused", former, semel.ErrLost)
	c.equal("a refused renewal must change nothing", c.lookup(p.Digest), rec)

	c.settle("a held claim must be released", rec, released(), nil)
	c.renew("the renewal of a released claim must be refused", rec, semel.ErrLost)
	third := c.wins("a released intent must be won", by("third", p))
	c.renew("the renewal of a released claim must be refused when another holds it", rec, semel.ErrLost)
	c.equal("a refused renewal must change nothing", c.lookup(p.Digest), third)
}

func renewWrongFence(c *check) {
	p, rec := c.claimed("a")
	for _, f := range []semel.Fence{0, rec.Fence - 1, rec.Fence + 1, 1<<63 + rec.Fence, math.MaxUint64} {
		c.wantErr("a renewal with another fence must be refused", c.Store.Renew(c.ctx, p.Digest, f, 2*lease), semel.ErrLost)
	}
	c.equal("a refused renewal must change nothing", c.lookup(p.Digest), rec)
}

func renewAbsent(c *check) {
	p := c.params("a")
	for _, f := range []semel.Fence{0, 1, 1 << 40} {
		c.wantErr("an absent intent must not be renewed", c.Store.Renew(c.ctx, p.Digest, f, lease), semel.ErrLost)
	}
	c.absent("a refused renewal must change nothing", p.Digest)
}

func renewSettled(c *check) {
	for name, rec := range c.held() {
		if rec.State == semel.StateClaimed {
			continue
		}
		c.renew("a settled claim must not be renewed: "+name, rec, semel.ErrLost)
		c.equal("a refused renewal must change nothing: "+name, c.lookup(rec.Digest), rec)
	}
}

func renewKeepsAlive(c *check) {
	p := c.params("a")
	p.Lease, p.Retention = time.Hour, 2*time.Hour
	rec := c.wins("an absent intent must be won", p)
	for range 12 {
		c.Advance(lease / 2)
		c.renew("a held claim must be renewed", rec, nil)
		c.sweep()
	}
	c.equal("a renewed claim must be remembered", c.lookup(p.Digest).Fence, rec.Fence)
	c.Advance(p.Lease + p.Retention - c.margin())
	c.sweep()
	c.equal("a lapsed claim must be remembered until ExpiresAt", c.lookup(p.Digest).Fence, rec.Fence)
	c.Advance(c.margin())
	c.absent("a lapsed claim must be forgotten at ExpiresAt", p.Digest)
}

func renewInvalid(c *check) {
	p, rec := c.claimed("a")
	for _, d := range []time.Duration{0, -lease, time.Millisecond - 1} {
		if err := c.Store.Renew(c.ctx, p.Digest, rec.Fence, d); err == nil {
			c.fail("a lease below a millisecond must be refused", err, "an error")
		}
	}
	c.equal("a refused renewal must change nothing", c.lookup(p.Digest), rec)
}
