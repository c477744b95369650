package storetest

import (
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/operator"
)

func verdictRules() []storeRule {
	return []storeRule{
		{Name: "verdict/stale", Promise: 3, Says: "an operator's verdict does not apply to an attempt that began after the operator looked", check: verdictStale, needs: needReliable},
		{Name: "verdict/race", Promise: 3, Says: "of a verdict and the retries that take the same attempt over at once exactly one counts", check: verdictRace, needs: needReliable},
		{Name: "verdict/holder", Promise: 3, Says: "a claim that its holder cancels leaves a tombstone", check: verdictHolder, needs: needReliable},
	}
}

// guard returns a guard over the store that never sweeps on its own.
func (c *check) guard(p semel.Policy) *semel.Guard {
	c.Helper()
	if p.Retention == 0 {
		p.Retention = retention
	}
	g, err := semel.New(c.Store, &semel.Options{Policy: p, SweepEvery: -1})
	c.wantErr("a guard must be made", err, nil)
	c.Cleanup(func() {
		if err := g.Close(); err != nil {
			c.Errorf("%s: close the guard: %v", c.rule.Name, err)
		}
	})
	return g
}

// anOperator is the operator of every verdict.
func anOperator() operator.Identity { return operator.Identity{Name: "storetest"} }

// records returns the guard's records, as an operator settles them.
func records(g *semel.Guard) *operator.Records {
	return must.Get(operator.New(g, nil))
}

// verdictOn settles an unknown record of which the operator saw an attempt.
func verdictOn(c *check, g *semel.Guard, seen semel.Record, as semel.State) error {
	_, err := records(g).Resolve(c.ctx, anOperator(), seen.Digest, seen.Fence, semel.Settlement{State: as, Note: "looked it up"})
	return err
}

func verdictStale(c *check) {
	g := c.guard(semel.Policy{})
	for name, then := range map[string]*semel.Settlement{
		"running":       nil,
		"completed":     new(completed("answer")),
		"unknown again": new(unknown("hung up again")),
		"cancelled":     new(cancelled("void")),
	} {
		p := c.params(name)
		seen := c.wins("an absent intent must be won", p)
		c.settle("a held claim must be settled", seen, unknown("hung up"), nil)
		now := c.wins("an unknown intent must be taken over", takingOver(seen.Fence, by("retry", p)))
		if then != nil {
			c.settle("a held claim must be settled", now, *then, nil)
		}
		now = c.lookup(p.Digest)
		for _, as := range []semel.State{semel.StateReleased, semel.StateCompleted, semel.StateCancelled} {
			err := verdictOn(c, g, seen, as)
			c.wantErr("a verdict on an earlier attempt must be refused: "+name, err, semel.ErrChanged)
			refused, ok := errors.AsType[*semel.Error](err)
			if !ok || refused.Record == nil || refused.Record.Fence != now.Fence || refused.Record.State != now.State {
				c.fail("the refusal must show the present record: "+name, err, describe(now))
			}
			c.equal("a refused verdict must change nothing: "+name, c.lookup(p.Digest), now)
		}
	}
}

func verdictRace(c *check) {
	const retries, rounds = 3, 16
	g := c.guard(semel.Policy{})
	for round := range rounds {
		p := c.params(fmt.Sprint("round ", round))
		seen := c.wins("an absent intent must be won", p)
		c.settle("a held claim must be settled", seen, unknown("hung up"), nil)
		var wons [retries]bool
		var errs [retries]error
		var verdict error
		race(1+retries, func(i int) {
			if i = (i + round) % (1 + retries); i == retries {
				verdict = verdictOn(c, g, seen, semel.StateCancelled)
				return
			}
			var rec semel.Record
			rec, wons[i], errs[i] = c.Store.Claim(c.ctx, takingOver(seen.Fence, by(fmt.Sprint("retry ", i), p)))
			if wons[i] && errs[i] == nil {
				errs[i] = c.Store.Settle(c.ctx, rec.Digest, rec.Fence, completed("answer"))
			}
		})
		c.wantErr("a retry must not fail", errors.Join(errs[:]...), nil)
		executed := 0
		for _, won := range wons {
			if won {
				executed++
			}
		}
		want := semel.StateCancelled
		if executed > 0 {
			want = semel.StateCompleted
			c.wantErr("a verdict that came after a retry must be refused", verdict, semel.ErrChanged)
		} else {
			c.wantErr("a verdict that came before the retries must count", verdict, nil)
		}
		if rec := c.lookup(p.Digest); executed > 1 || rec.State != want {
			c.fail("exactly one of verdict and retries must count", fmt.Sprintf("%d retries, %s", executed, describe(rec)), want)
		}
	}
}

func verdictHolder(c *check) {
	g := c.guard(semel.Policy{})
	key := semel.Key{Scope: scope, Name: "a"}
	claim, rec, err := g.Begin(c.ctx, key, semel.FingerprintOf("a"))
	c.wantErr("an absent intent must be claimed", err, nil)
	if claim == nil {
		c.fail("an absent intent must be claimed", describe(*rec), "a claim")
	}
	c.wantErr("Cancel must not fail", claim.Cancel("the order was undone"), nil)
	left := c.lookup(claim.Digest())
	if left.State != semel.StateCancelled || left.Note != "the order was undone" || left.Fence != claim.Fence() {
		c.fail("the holder must leave a tombstone under its own fence", fmt.Sprintf("%s, note %q", describe(left), left.Note), "cancelled")
	}
	_, _, err = g.Begin(c.ctx, key, semel.FingerprintOf("a"))
	c.wantErr("a late original must be refused", err, semel.ErrCancelled)
	c.wantErr("a claim must be settled once", claim.Cancel("again"), semel.ErrSettled)
	again, err := records(g).Cancel(c.ctx, anOperator(), key, 0, "customer called")
	c.wantErr("an operator's Cancel must change nothing then", err, nil)
	c.equal("an operator's Cancel must change nothing then", again, left)
}
