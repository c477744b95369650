package storetest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/storerace"
)

const racers = 64

func concurrentRules() []storeRule {
	return []storeRule{
		{Name: "race/claim", Promise: 1, Says: "of many that claim an absent intent at once exactly one wins", check: raceClaim},
		{Name: "race/takeover", Promise: 1, Says: "of many that take a lapsed claim over at once exactly one wins", check: raceTakeOver},
		{Name: "race/takeover-stale", Promise: 1, Says: "of many that take over what each of them leaves unknown, no two take over one fence", check: raceStaleTakeOver},
		{Name: "race/settle", Promise: 2, Says: "of many settlements at once exactly one counts", check: raceSettle},
		{Name: "race/settle-holders", Promise: 1, Says: "a former holder and the present one that settle at once each get their own answer", check: raceHolders},
		{Name: "race/renew-or-takeover", Promise: 1, Says: "a lapsed claim is renewed or taken over, never both", check: raceRenew},
		{Name: "race/fences", Promise: 1, Says: "claims of many keys at once share no fence", check: raceFences},
	}
}

// race runs fn in many goroutines that start together, and waits for them.
func race(n int, fn func(i int)) {
	_ = storerace.Together(n, func(i int) error { fn(i); return nil }) // fn keeps its errors
}

// raceToClaim lets many claim, each with its own owner, and returns the one
// record that was won.
func (c *check) raceToClaim(p semel.ClaimParams) semel.Record {
	c.Helper()
	recs := make([]semel.Record, racers)
	wons := make([]bool, racers)
	errs := make([]error, racers)
	race(racers, func(i int) {
		recs[i], wons[i], errs[i] = c.Store.Claim(c.ctx, by(fmt.Sprint("racer ", i), p))
	})
	c.wantErr("Claim must not fail under contention", errors.Join(errs...), nil)
	var winner semel.Record
	winners := 0
	for i, won := range wons {
		if won {
			winners++
			winner = recs[i]
		}
	}
	c.equal("exactly one must win", winners, 1)
	for i := range recs {
		c.equal("a loser must get the winner's record", recs[i], winner)
	}
	return winner
}

func raceClaim(c *check) {
	var last semel.Fence
	for range 4 {
		rec := c.raceToClaim(c.params("a"))
		c.grows(last, rec.Fence)
		c.equal("the winner's record must stay", c.lookup(rec.Digest), rec)
		c.settle("a held claim must be released", rec, released(), nil)
		last = rec.Fence
	}
}

func raceTakeOver(c *check) {
	p, rec := c.claimed("a")
	for range 4 {
		c.lapse(p.Digest)
		// A loser sees the winner's live claim: the former one is gone.
		next := c.raceToClaim(takingOver(rec.Fence, p))
		c.grows(rec.Fence, next.Fence)
		rec = next
	}
	c.equal("every takeover must count as one attempt", rec.Attempt, 5)
}

func raceStaleTakeOver(c *check) {
	p := c.params("a")
	c.settle("a held claim must be settled", c.wins("an absent intent must be won", p), unknown(""), nil)
	taken, errs := make([]semel.Fence, 4*racers), make([]error, 4*racers)
	race(racers, func(i int) {
		var met semel.Record
		for at := i; at < len(taken); at += racers {
			var lookErr error
			if at/racers%2 == 0 { // every other time it asks for the fence that it may have taken over
				met, lookErr = c.Store.Lookup(c.ctx, p.Digest)
			}
			rec, won, err := c.Store.Claim(c.ctx, takingOver(met.Fence, by(fmt.Sprint(at), p)))
			if errs[at] = errors.Join(lookErr, err); won {
				taken[at] = met.Fence
				_ = c.Store.Settle(c.ctx, p.Digest, rec.Fence, unknown("")) // the others see whether it counted
			}
		}
	})
	c.wantErr("no verb may fail under contention", errors.Join(errs...), nil)
	slices.Sort(taken)
	taken = slices.DeleteFunc(taken, func(f semel.Fence) bool { return f == 0 })
	if once := slices.Compact(slices.Clone(taken)); len(once) != len(taken) {
		c.fail("a fence must not be taken over twice", taken, once)
	}
}

func raceSettle(c *check) {
	rec := c.wins("an absent intent must be won", c.params("a"))
	errs := make([]error, racers)
	race(racers, func(i int) {
		errs[i] = c.Store.Settle(c.ctx, rec.Digest, rec.Fence, completed(fmt.Sprint("answer ", i)))
	})
	stands := string(c.lookup(rec.Digest).Outcome)
	for i, err := range errs {
		var want error
		if mine := fmt.Sprint("answer ", i); mine != stands {
			want = semel.ErrSettled
		}
		c.wantErr("exactly the settlement that is recorded must have returned nil", err, want)
	}
}

// raceHolders settles each key twice: at once by callers of their own, and in
// one batch, in either order, where the store takes batches.
func raceHolders(c *check) {
	settle := func(ss []semel.SettleParams) []error {
		errs := make([]error, len(ss))
		race(len(ss), func(i int) { errs[i] = c.Store.Settle(c.ctx, ss[i].Digest, ss[i].Fence, ss[i].Settlement) })
		return errs
	}
	c.settleTwice("at once", settle)
	batcher, ok := c.Store.(semel.Batcher)
	if !ok {
		return
	}
	c.settleTwice("in one batch", func(ss []semel.SettleParams) []error {
		_, errs, err := batcher.Batch(c.ctx, nil, ss)
		c.wantErr("Batch must not fail", err, nil)
		return errs
	})
}

// settleTwice has the former and the present holder of many keys settle.
func (c *check) settleTwice(how string, settle func([]semel.SettleParams) []error) {
	c.Helper()
	const keys = 16
	var former []semel.Record
	for i := range keys {
		former = append(former, c.wins("an absent intent must be won", c.params(fmt.Sprint(how, i))))
	}
	c.lapse(former[keys-1].Digest)
	var steps []semel.SettleParams
	var want []error
	for i, rec := range former {
		present := c.wins("a lapsed claim must be won by taking it over", takingOver(rec.Fence, by("second", c.params(rec.Name))))
		pair := []semel.SettleParams{
			{Digest: rec.Digest, Fence: rec.Fence, Settlement: completed("former")},
			{Digest: rec.Digest, Fence: present.Fence, Settlement: completed("present")},
		}
		answers := []error{semel.ErrLost, nil}
		if i%2 == 1 {
			slices.Reverse(pair)
			slices.Reverse(answers)
		}
		steps, want = append(steps, pair...), append(want, answers...)
	}
	for i, err := range settle(steps) {
		c.wantErr(fmt.Sprintf("only the present holder may settle, %s, as step %d of two", how, i%2+1), err, want[i])
	}
	for _, rec := range former {
		c.equal("the present holder's outcome must stay", string(c.lookup(rec.Digest).Outcome), "present")
	}
}

func raceRenew(c *check) {
	p, rec := c.claimed("a")
	for i := range 16 {
		c.lapse(p.Digest)
		var renewed, failed error
		var won bool
		var taker semel.Record
		race(2, func(j int) {
			if (i+j)%2 == 0 {
				renewed = c.Store.Renew(c.ctx, rec.Digest, rec.Fence, lease)
				return
			}
			taker, won, failed = c.Store.Claim(c.ctx, takingOver(rec.Fence, by(fmt.Sprint("taker ", i), p)))
		})
		c.wantErr("Claim must not fail under contention", failed, nil)
		switch {
		case won && renewed == nil:
			c.fail("a lapsed claim must not be both renewed and taken over", "both", "one")
		case !won && renewed != nil:
			c.fail("a lapsed claim must be renewed or taken over", renewed, "one of both")
		case won:
			c.wantErr("a renewal after the takeover must be refused", renewed, semel.ErrLost)
			rec = taker
		}
	}
}

func raceFences(c *check) {
	c.raceKeys(racers, 8, func(_ int, p semel.ClaimParams) (semel.Fence, error) {
		rec, won, err := c.Store.Claim(c.ctx, p)
		return rec.Fence, errors.Join(err, wonOr(won))
	})
}

// wonOr is an error unless a claim of an absent intent was won.
func wonOr(won bool) error {
	if won {
		return nil
	}
	return errors.New("an absent intent was not won")
}

// raceKeys lets many claim keys of their own, named "racer/key".
func (c *check) raceKeys(racers, keys int, claim func(i int, p semel.ClaimParams) (semel.Fence, error)) {
	c.Helper()
	fences, errs := make([][]semel.Fence, racers), make([]error, racers)
	race(racers, func(i int) {
		for j := range keys {
			f, err := claim(i, c.params(fmt.Sprint(i, "/", j)))
			fences[i], errs[i] = append(fences[i], f), errors.Join(errs[i], err)
		}
	})
	c.wantErr("every claim of its own key must be won", errors.Join(errs...), nil)
	seen := map[semel.Fence]bool{}
	for _, own := range fences {
		var last semel.Fence
		for _, f := range own {
			c.grows(last, f)
			if seen[f] {
				c.fail("a fence must not be given twice", f, "every fence once")
			}
			seen[f], last = true, f
		}
	}
}
