package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore"
)

const (
	manyCallers    = 64
	aimGroupCommit = 5.0
	outcomeBytes   = 300
)

// cycler runs claim and settlement on a store, on fresh keys.
type cycler struct {
	store   semel.Store
	callers int
	serial  atomic.Int64
	outcome []byte
	prefix  string
}

func newCycler(store semel.Store, prefix string, callers int) *cycler {
	return &cycler{store: store, callers: callers, outcome: make([]byte, outcomeBytes), prefix: prefix}
}

// run does n full cycles, spread over the callers.
func (c *cycler) run(ctx context.Context, n int) error { return spread(ctx, c.callers, n, c.one) }

func (c *cycler) one(ctx context.Context) error {
	key := semel.Key{Scope: "tenant-7 POST /invoices", Name: c.prefix + strconv.FormatInt(c.serial.Add(1), 10)}
	rec, won, err := c.store.Claim(ctx, semel.ClaimParams{
		Digest: key.Digest(), Scope: key.Scope, Name: key.Name,
		Lease: semel.DefaultLease, Retention: semel.DefaultRetention,
	})
	if err != nil || !won {
		return fmt.Errorf("claim %q: won %v: %w", key.Name, won, err)
	}
	return c.store.Settle(ctx, rec.Digest, rec.Fence, semel.Settlement{
		State: semel.StateCompleted, Outcome: c.outcome, Kept: true, Retention: semel.DefaultRetention,
	})
}

// single lets only one caller at a time into the store, so that nothing can
// share a commit: what a store without group commit does.
type single struct {
	semel.Store
	seat chan struct{}
}

func (s *single) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	s.seat <- struct{}{}
	defer func() { <-s.seat }()
	return s.Store.Claim(ctx, p)
}

func (s *single) Settle(ctx context.Context, d semel.Digest, f semel.Fence, v semel.Settlement) error {
	s.seat <- struct{}{}
	defer func() { <-s.seat }()
	return s.Store.Settle(ctx, d, f, v)
}

func benchSQLite(ctx context.Context, s *settings) (*table, error) {
	store, err := sqlitestore.Open(ctx, filepath.Join(s.dir, "cycles.db"), nil)
	if err != nil {
		return nil, err
	}
	defer shut(store)
	alone := &single{Store: store, seat: make(chan struct{}, 1)}
	samples, err := measure(ctx, s, []subject{
		{"1", newCycler(store, "a", 1).run},
		{"64 alone", newCycler(alone, "b", manyCallers).run},
		{"64 shared", newCycler(store, "c", manyCallers).run},
	})
	if err != nil {
		return nil, err
	}
	ratio := samples[1].nanos / samples[2].nanos
	perSecond := func(i int) string {
		return fmt.Sprintf("%s (%.0f/s)", nanosText(samples[i].nanos), float64(time.Second)/samples[i].nanos)
	}
	return &table{title: "sqlite: full cycle, claim + settle, fsynced, 300-byte outcome", rows: []row{
		{"1 goroutine", perSecond(0), allocsText(samples[0].allocs), "", "", noAim},
		{"64 goroutines, one commit per operation", perSecond(1), allocsText(samples[1].allocs), "", "", noAim},
		{
			"64 goroutines, group commit", perSecond(2), allocsText(samples[2].allocs),
			fmt.Sprintf("%.1f× one commit per operation", ratio), fmt.Sprintf("≥ %.0f×", aimGroupCommit), verdictOf(ratio >= aimGroupCommit),
		},
	}}, nil
}
