package storetest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/semel-dev/semel"
)

const (
	lease     = time.Hour
	retention = 24 * time.Hour
	scope     = "storetest"
)

// fail stops the rule. The reason says what must be.
func (c *check) fail(reason string, got, want any) {
	c.Helper()
	c.Fatalf("%s: got %v, want %v", c.broken(reason), got, want)
}

// broken names the rule, the reason and the promise.
func (c *check) broken(reason string) string {
	if c.rule.Promise == 0 {
		return c.rule.Name + ": " + reason
	}
	return fmt.Sprintf("%s: %s (promise %d)", c.rule.Name, reason, c.rule.Promise)
}

// equal fails unless both are the same. Records are compared without ReadAt;
// nil and empty are the same outcome.
func (c *check) equal(reason string, got, want any) {
	c.Helper()
	if diff := differ(want, got, func(r *semel.Record) { r.ReadAt = time.Time{} }); diff != "" {
		c.Fatalf("%s: (-want +got)\n%s", c.broken(reason), diff)
	}
}

// differ returns the difference of two values; "" when they are equal. forget clears what to ignore of a value that is a record.
func differ(want, got any, forget func(*semel.Record)) string {
	compared := [...]any{want, got}
	for i, v := range compared {
		if rec, ok := v.(semel.Record); ok {
			if forget(&rec); len(rec.Outcome) == 0 {
				rec.Outcome = nil
			}
			compared[i] = rec
		}
	}
	if reflect.DeepEqual(compared[0], compared[1]) {
		return "" // the usual case, without cmp's price
	}
	return cmp.Diff(compared[0], compared[1], cmpopts.EquateEmpty())
}

// wantErr fails unless err wraps want (nil: unless err is nil).
func (c *check) wantErr(reason string, err, want error) {
	c.Helper()
	if !errors.Is(err, want) {
		c.fail(reason, err, want)
	}
}

// grows fails unless the second fence is greater.
func (c *check) grows(before, after semel.Fence) {
	c.Helper()
	if after <= before {
		c.fail("the fence must grow", after, fmt.Sprintf("> %d", before))
	}
}

// params are good parameters of a claim, by the first owner.
func (c *check) params(name string) semel.ClaimParams {
	key := semel.Key{Scope: scope, Name: name}
	return semel.ClaimParams{
		Digest:      key.Digest(),
		Scope:       key.Scope,
		Name:        key.Name,
		Fingerprint: semel.FingerprintOf(name),
		Owner:       owner("first"),
		Lease:       lease,
		Retention:   retention,
	}
}

// by returns the same parameters for another attempt.
func by(who string, p semel.ClaimParams) semel.ClaimParams {
	p.Owner = owner(who)
	return p
}

// takingOver are the same parameters with TakeOver set.
func takingOver(f semel.Fence, p semel.ClaimParams) semel.ClaimParams {
	p.TakeOver = f
	return p
}

func owner(who string) semel.Owner {
	sum := sha256.Sum256([]byte(who))
	return semel.Owner(sum[:16])
}

func completed(outcome string) semel.Settlement {
	return semel.Settlement{State: semel.StateCompleted, Outcome: []byte(outcome), Kept: true, Retention: retention}
}

func unknown(note string) semel.Settlement {
	return semel.Settlement{State: semel.StateUnknown, Note: note, Retention: retention}
}

func cancelled(note string) semel.Settlement {
	return semel.Settlement{State: semel.StateCancelled, Note: note, Retention: retention}
}

func released() semel.Settlement { return semel.Settlement{State: semel.StateReleased} }

func (c *check) claim(p semel.ClaimParams) (semel.Record, bool) {
	c.Helper()
	rec, won, err := c.Store.Claim(c.ctx, p)
	c.wantErr("Claim must not fail", err, nil)
	return rec, won
}

// wins claims, and must win.
func (c *check) wins(reason string, p semel.ClaimParams) semel.Record {
	c.Helper()
	rec, won := c.claim(p)
	if !won {
		c.fail(reason, "won = false, "+describe(rec), "won = true")
	}
	return rec
}

// claimed returns a claim that was just won, and its parameters.
func (c *check) claimed(name string) (semel.ClaimParams, semel.Record) {
	c.Helper()
	p := c.params(name)
	return p, c.wins("an absent intent must be won", p)
}

// loses claims, must not win, must return the present record, and must not
// change it.
func (c *check) loses(reason string, p semel.ClaimParams, stands semel.Record) {
	c.Helper()
	rec, won := c.claim(p)
	if won {
		c.fail(reason, "won = true, "+describe(rec), "won = false")
	}
	c.equal("a Claim that is not won must return the present record", rec, stands)
	c.equal("a Claim that is not won must change nothing", c.lookup(p.Digest), stands)
}

func (c *check) lookup(d semel.Digest) semel.Record {
	c.Helper()
	rec, err := c.Store.Lookup(c.ctx, d)
	c.wantErr("Lookup must find the record", err, nil)
	return rec
}

// absent fails unless the record is absent to Lookup.
func (c *check) absent(reason string, d semel.Digest) {
	c.Helper()
	if rec, err := c.Store.Lookup(c.ctx, d); !errors.Is(err, semel.ErrNotFound) {
		c.fail(reason, fmt.Sprintf("%s, error %v", describe(rec), err), semel.ErrNotFound)
	}
}

// settle settles, and the answer must be want.
func (c *check) settle(reason string, rec semel.Record, to semel.Settlement, want error) {
	c.Helper()
	c.wantErr(reason, c.Store.Settle(c.ctx, rec.Digest, rec.Fence, to), want)
}

// renew renews by the usual lease, and the answer must be want.
func (c *check) renew(reason string, rec semel.Record, want error) {
	c.Helper()
	c.wantErr(reason, c.Store.Renew(c.ctx, rec.Digest, rec.Fence, lease), want)
}

// lapse moves the clock to the end of the record's lease.
func (c *check) lapse(d semel.Digest) {
	c.Helper()
	rec := c.lookup(d)
	c.Advance(rec.LeaseLeft())
}

// expire moves the clock to the instant at which the record expires.
func (c *check) expire(d semel.Digest) {
	c.Helper()
	rec := c.lookup(d)
	c.Advance(rec.RetentionLeft())
}

// margin is the smallest distance from a boundary to which the clock may be
// moved.
func (c *check) margin() time.Duration {
	if c.Running {
		return time.Minute
	}
	return time.Millisecond
}

// sweep frees expired records, where the store can.
func (c *check) sweep() {
	c.Helper()
	if _, ok := semel.StoreAs[semel.Sweeper](c.Store); !ok {
		return
	}
	for c.sweepOnce(semel.MaxListLimit) == semel.MaxListLimit {
		continue
	}
}

// sweepOnce frees up to limit expired records, and returns how many.
func (c *check) sweepOnce(limit int) int {
	c.Helper()
	sweeper, _ := semel.StoreAs[semel.Sweeper](c.Store)
	n, err := sweeper.Sweep(c.ctx, limit)
	c.wantErr("Sweep must not fail", err, nil)
	return n
}

// count fails unless the store, where it counts, holds so many records.
func (c *check) count(reason string, want int64) (counts bool) {
	c.Helper()
	counter, counts := semel.StoreAs[semel.Counter](c.Store)
	if counts {
		n, err := counter.Count(c.ctx)
		c.wantErr("Count must not fail", err, nil)
		c.equal(reason, n, want)
	}
	return counts
}

// reopen closes the store and opens it again, or skips.
func (c *check) reopen() {
	c.Helper()
	if c.Reopen == nil {
		c.Skip("the store does not survive")
	}
	c.Store = c.Reopen(c.TB)
}

// held returns a record in each state that a store can hold, by name.
func (c *check) held() map[string]semel.Record {
	c.Helper()
	out := map[string]semel.Record{}
	for name, to := range map[string]semel.Settlement{
		"claimed":   {},
		"completed": completed("answer"),
		"unknown":   unknown("note"),
		"cancelled": cancelled("note"),
	} {
		rec := c.wins("an absent intent must be won", c.params(name))
		if to.State != semel.StateAbsent {
			c.settle("a held claim must be settled", rec, to, nil)
		}
		out[name] = c.lookup(rec.Digest)
	}
	return out
}

func describe(r semel.Record) string {
	return fmt.Sprintf("%v record with fence %d, attempt %d, owner %x", r.State, r.Fence, r.Attempt, r.Owner[:4])
}
