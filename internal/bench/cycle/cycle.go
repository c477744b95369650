// Package cycle claims and settles intents on a store, as benchmarks measure it.
package cycle

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/bench/contest"
)

const (
	// OutcomeBytes is the length of an outcome.
	OutcomeBytes = 300

	// Scope is that of all keys.
	Scope = "tenant-7 POST /invoices"
)

// Cycler goes through the keys prefix1, prefix2 and so on. Its methods may be
// called at the same time.
type Cycler struct {
	store   semel.Store
	callers int
	serial  atomic.Int64
	outcome []byte
	prefix  string
}

// New returns a cycler at the first key.
func New(store semel.Store, prefix string, callers int) *Cycler {
	return &Cycler{store: store, callers: callers, outcome: make([]byte, OutcomeBytes), prefix: prefix}
}

// Run claims and settles n fresh intents, spread over the callers.
func (c *Cycler) Run(ctx context.Context, n int) error {
	return contest.Spread(ctx, c.callers, n, c.One)
}

// One claims and settles a fresh intent.
func (c *Cycler) One(ctx context.Context) error {
	p := c.next()
	rec, won, err := c.store.Claim(ctx, p)
	if err != nil || !won {
		return fmt.Errorf("claim %q: won %v: %w", p.Name, won, err)
	}
	return c.store.Settle(ctx, rec.Digest, rec.Fence, semel.Settlement{
		State: semel.StateCompleted, Outcome: c.outcome, Kept: true, Retention: semel.DefaultRetention,
	})
}

// Replay claims n intents that another cycler of the same prefix has settled.
func (c *Cycler) Replay(ctx context.Context, n int) error {
	return contest.Spread(ctx, c.callers, n, func(ctx context.Context) error {
		p := c.next()
		rec, won, err := c.store.Claim(ctx, p)
		if err == nil && (won || rec.State != semel.StateCompleted) {
			err = fmt.Errorf("claim of %q, which is completed: won %v, %v", p.Name, won, rec.State)
		}
		return err
	})
}

func (c *Cycler) next() semel.ClaimParams {
	key := semel.Key{Scope: Scope, Name: c.prefix + strconv.FormatInt(c.serial.Add(1), 10)}
	return semel.ClaimParams{
		Digest: key.Digest(), Scope: key.Scope, Name: key.Name, Owner: semel.Owner{1},
		Lease: semel.DefaultLease, Retention: semel.DefaultRetention,
	}
}
