package main

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/semel-dev/semel"
)

// keys mints fresh keys: prefix1, prefix2 and so on.
type keys struct {
	prefix string
	serial atomic.Int64
}

func (k *keys) next() semel.Key {
	return semel.Key{Scope: "tenant-7 POST /invoices", Name: k.prefix + strconv.FormatInt(k.serial.Add(1), 10)}
}

// cycler claims and settles intents. Its methods may be called at the same time.
type cycler struct {
	store   semel.Store
	callers int
	keys    keys
	outcome []byte
}

func newCycler(store semel.Store, prefix string, callers int) *cycler {
	return &cycler{store: store, callers: callers, outcome: make([]byte, rowBytes), keys: keys{prefix: prefix}}
}

// run claims and settles n fresh intents, spread over the callers.
func (c *cycler) run(ctx context.Context, n int) error {
	return spread(ctx, c.callers, n, c.one)
}

// one claims and settles a fresh intent.
func (c *cycler) one(ctx context.Context) error {
	return cycle(ctx, c.store, paramsOf(c.keys.next()), c.outcome)
}

// replay claims n intents that another cycler of the same prefix has settled.
func (c *cycler) replay(ctx context.Context, n int) error {
	return spread(ctx, c.callers, n, func(ctx context.Context) error { return replay(ctx, c.store, paramsOf(c.keys.next())) })
}

func paramsOf(key semel.Key) semel.ClaimParams {
	return semel.ClaimParams{
		Digest: key.Digest(), Scope: key.Scope, Name: key.Name, Owner: semel.Owner{1},
		Lease: semel.DefaultLease, Retention: semel.DefaultRetention,
	}
}

// cycle claims and settles a fresh intent.
func cycle(ctx context.Context, store semel.Store, p semel.ClaimParams, outcome []byte) error {
	rec, won, err := store.Claim(ctx, p)
	if err != nil || !won {
		return fmt.Errorf("claim %q: won %v: %w", p.Name, won, err)
	}
	return store.Settle(ctx, rec.Digest, rec.Fence, semel.Settlement{
		State: semel.StateCompleted, Outcome: outcome, Kept: true, Retention: semel.DefaultRetention,
	})
}

// replay claims an intent that is completed.
func replay(ctx context.Context, store semel.Store, p semel.ClaimParams) error {
	rec, won, err := store.Claim(ctx, p)
	if err == nil && (won || rec.State != semel.StateCompleted) {
		err = fmt.Errorf("claim of %q, which is completed: won %v, %v", p.Name, won, rec.State)
	}
	return err
}
