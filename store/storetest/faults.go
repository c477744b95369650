package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/waiting"
)

// maxRepeats bounds how often a verb is repeated until its answer is definite.
const maxRepeats = 64

// RunFaults checks that every verb is safe to repeat. It runs the rules again
// over a client that repeats each verb until it gets a definite answer, while
// replies are lost after the store took the step; those about many callers
// also while calls fail at random before and after it, or take long. And it
// checks that such clients execute each intent exactly once.
// Rules that count calls, end contexts or use optional interfaces are left out.
func RunFaults(t *testing.T, h Harness) {
	t.Helper()
	for name, plan := range map[string]Faults{
		"after": {After: someOfEach},
		"often": {FailBefore: 0.3, FailAfter: 0.3, Delay: 0.1, MaxDelay: 200 * time.Microsecond, Seed: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, rule := range faultRules() {
				if name == "often" && !strings.HasPrefix(rule.Name, "race/") && !strings.HasPrefix(rule.Name, "faults/") {
					continue
				}
				t.Run(rule.Name, func(t *testing.T) {
					t.Parallel()
					rule.Check(t, faulty(h, plan))
				})
			}
		})
	}
}

// someOfEach lets the first, the third and the fifth call of every verb fail.
func someOfEach(c Call) error {
	if c.N%2 == 1 && c.N < 6 {
		return ErrInjected
	}
	return nil
}

// faultRules returns the rules that still hold when verbs are repeated.
func faultRules() []storeRule {
	rules := slices.DeleteFunc(storeRules(), func(r storeRule) bool { return r.needs != needNothing || r.Name == "history/linearizable" })
	return append(rules, storeRule{
		Name: "faults/exactly-once", Promise: 3, check: exactlyOnce,
		Says: "clients that repeat every verb until its answer is definite execute each intent once, and all get that outcome",
	})
}

// faulty puts the planned faults, and a client that repeats, in front of the
// harness's store.
func faulty(h Harness, plan Faults) Harness {
	return func(tb testing.TB) *Instance {
		tb.Helper()
		inst := h(tb)
		if inst == nil || inst.Store == nil {
			return inst
		}
		inst.Store = steady(Break(inst.Store, plan))
		if reopen := inst.Reopen; reopen != nil {
			inst.Reopen = func(tb testing.TB) semel.Store {
				tb.Helper()
				return steady(Break(reopen(tb), plan))
			}
		}
		return inst
	}
}

var errNeverDefinite = errors.New("storetest: no definite answer")

// steady repeats every verb until its answer is definite.
func steady(inner semel.Store) semel.Store {
	return &around{inner, func(ctx context.Context, _ string, _ semel.Digest, ask func() error) error {
		err := errNeverDefinite
		for range maxRepeats {
			err = ask()
			if !errors.Is(err, ErrInjected) || ctx.Err() != nil {
				return err
			}
		}
		return fmt.Errorf("%w: %w", errNeverDefinite, err)
	}}
}

// exactlyOnce lets many clients want the same intents. Every third winner
// first finds that nothing happened, and releases.
func exactlyOnce(c *check) {
	const intents, clients = 4, 16
	var effects, releases [intents]atomic.Int64
	outcomes := make([][]string, clients)
	errs := make([]error, clients)
	race(clients, func(i int) {
		for k := range intents {
			want := &intent{
				c: c, p: by(fmt.Sprint("client ", i), c.params(fmt.Sprint("intent ", k))),
				effects: &effects[k], releases: &releases[k],
			}
			outcome, err := want.get()
			outcomes[i] = append(outcomes[i], outcome)
			errs[i] = errors.Join(errs[i], err)
		}
	})
	c.wantErr("every client must get an answer", errors.Join(errs...), nil)
	for k := range intents {
		if got := effects[k].Load(); got != 1 {
			c.fail("an intent must be executed exactly once", got, 1)
		}
		for i := range clients {
			c.equal("all clients must get the same outcome", outcomes[i][k], outcomes[0][k])
		}
	}
}

// intent is one client's attempt to do something once.
type intent struct {
	c        *check
	p        semel.ClaimParams
	effects  *atomic.Int64
	releases *atomic.Int64
}

// get claims until a client, perhaps this one, has completed the intent.
func (w *intent) get() (string, error) {
	store, ctx := w.c.Store, w.c.ctx
	for attempt := 0; ctx.Err() == nil; attempt++ {
		p := w.p
		p.Owner = owner(fmt.Sprintf("%x %d", w.p.Owner, attempt))
		rec, won, err := store.Claim(ctx, p)
		switch {
		case err != nil:
			return "", err
		case !won && rec.State == semel.StateCompleted:
			return string(rec.Outcome), nil
		case !won:
			waiting.Sleep(ctx, time.Millisecond)
			continue
		case w.releases.Add(1) <= 3:
			// A lost reply to a release may be answered, when it is
			// repeated, by the fence of the next holder.
			if err := store.Settle(ctx, rec.Digest, rec.Fence, released()); err != nil && !errors.Is(err, semel.ErrLost) {
				return "", err
			}
			continue
		}
		outcome := fmt.Sprintf("effect %d by %x", w.effects.Add(1), p.Owner)
		return outcome, store.Settle(ctx, rec.Digest, rec.Fence, completed(outcome))
	}
	return "", ctx.Err()
}
