package storecheck

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
)

const (
	clockReads = 200
	// clockRate bounds how much faster than this host's clock the database's may run during a lease.
	clockRate    = 0.1
	outcomeBytes = 1 << 20
)

// clock reads the database's clock through two connections in turn, and times a lease.
func (c *checker) clock(ctx context.Context, f Finding) Finding {
	p := c.params("clock", time.Minute)
	rec, won, err := c.store.Claim(ctx, p)
	if err = mustWin(won, err); err != nil {
		return f.failed(err)
	}
	var seen []string
	last := rec.ReadAt
	for i := range clockReads {
		store := c.store
		if i%2 == 1 {
			store = c.other
		}
		rec, err := store.Lookup(ctx, p.Digest)
		if err != nil {
			return f.failed(err)
		}
		if rec.ReadAt.Before(last) {
			seen = append(seen, fmt.Sprintf("the clock went back by %v between two reads", last.Sub(rec.ReadAt)))
		}
		last = rec.ReadAt
	}
	const lease = time.Second
	p = c.params("lease", lease)
	called := time.Now()
	if _, won, err := c.store.Claim(ctx, p); !won || err != nil {
		return f.failed(mustWin(won, err))
	}
	lapsedAt, err := c.lapsed(ctx, p.Digest)
	if err != nil {
		return f.failed(err)
	}
	if took := lapsedAt.Sub(called); float64(took) < float64(lease)*(1-clockRate) {
		seen = append(seen, fmt.Sprintf("a lease of %v ended after %v", lease, took))
	}
	return f.seen(seen, "Give all servers of this database one time source that never steps back (chrony, NTP with slewing).")
}

// lapsed waits until the claim has lapsed by the store's clock.
func (c *checker) lapsed(ctx context.Context, d semel.Digest) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		rec, err := c.store.Lookup(ctx, d)
		if err != nil {
			return time.Time{}, err
		}
		if rec.Lapsed() {
			return time.Now(), nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("a lease does not end: %w", ctx.Err())
		}
	}
}

// outcome stores every byte value, and the longest outcome that a policy keeps.
func (c *checker) outcome(ctx context.Context, f Finding) Finding {
	want := make([]byte, outcomeBytes)
	rand.Read(want)
	for i := range 256 {
		want[i] = byte(i)
	}
	p := c.params("outcome", time.Minute)
	rec, won, err := c.store.Claim(ctx, p)
	if err = mustWin(won, err); err != nil {
		return f.failed(err)
	}
	done := semel.Settlement{State: semel.StateCompleted, Outcome: want, Kept: true, Retention: time.Hour}
	if err := c.store.Settle(ctx, p.Digest, rec.Fence, done); err != nil {
		return f.failed(err)
	}
	again, won, err := c.other.Claim(ctx, p)
	if err != nil {
		return f.failed(err)
	}
	var seen []string
	if won || again.State != semel.StateCompleted {
		seen = append(seen, "a completed intent was claimed again")
	}
	if !bytes.Equal(again.Outcome, want) {
		seen = append(seen, fmt.Sprintf("an outcome of %d bytes came back as %d bytes, or changed", len(want), len(again.Outcome)))
	}
	return f.seen(seen, "Find the proxy or the column type that changes bytes.")
}
