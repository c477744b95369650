package storecheck

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/storerace"
)

const adviceRace = "Do not use this database for claims as it is: two callers can execute one intent. " +
	"Look for caching sequences, asynchronous multi-master replication, or a proxy that splits statements."

func (c *checker) race(ctx context.Context, f Finding) Finding {
	return c.raceWith(ctx, f, c.opts.Keys, func() (semel.Store, error) {
		return c.target.Open(ctx, slog.New(slog.DiscardHandler))
	})
}

const adviceLevel = "Poolers refuse connections that request another default. The race did run at the database's own default."

func (c *checker) raceAt(ctx context.Context, f Finding, isolation string) Finding {
	store, err := c.target.OpenAt(ctx, isolation)
	if err != nil {
		return f.untried(err.Error(), adviceLevel)
	}
	_ = store.Close() // only looked at
	return c.raceWith(ctx, f, max(1, c.opts.Keys/4), func() (semel.Store, error) { return c.target.OpenAt(ctx, isolation) })
}

func (c *checker) raceWith(ctx context.Context, f Finding, keys int, open func() (semel.Store, error)) Finding {
	ctx, cancel := context.WithTimeoutCause(ctx, c.opts.Patience, errors.New("the race did not end"))
	defer cancel()
	report, err := storerace.Run(ctx, open, &storerace.Options{Keys: keys})
	if err != nil && len(report.Violations) == 0 {
		return f.failed(err)
	}
	f = f.seen(report.Violations, adviceRace)
	if f.Verdict == Held {
		f.Details = []string{fmt.Sprintf("%d claims on %d keys through %d stores, %d won, none at the same time", report.Claims, report.Keys, report.Stores, report.Wins)}
	}
	return f
}

// formerHolder waits for a lease to end and takes the claim over.
func (c *checker) formerHolder(ctx context.Context, f Finding) Finding {
	const lease = 200 * time.Millisecond
	p := c.params("former holder", lease)
	first, won, err := c.store.Claim(ctx, p)
	if err = mustWin(won, err); err != nil {
		return f.failed(err)
	}
	if _, err := c.lapsed(ctx, p.Digest); err != nil {
		return f.failed(err)
	}
	next := c.params("former holder", time.Minute)
	next.TakeOver = first.Fence
	second, won, err := c.other.Claim(ctx, next)
	if err = mustWin(won, err); err != nil {
		return f.failed(fmt.Errorf("take over: %w", err))
	}
	var seen []string
	if second.Fence <= first.Fence {
		seen = append(seen, fmt.Sprintf("fence %d was followed by fence %d", first.Fence, second.Fence))
	}
	renewed := c.store.Renew(ctx, p.Digest, first.Fence, time.Minute)
	settled := c.store.Settle(ctx, p.Digest, first.Fence, semel.Settlement{State: semel.StateCompleted, Retention: time.Hour})
	for _, err := range []error{renewed, settled} {
		if err != nil && !errors.Is(err, semel.ErrLost) && !errors.Is(err, semel.ErrSettled) {
			return f.failed(err) // neither renewed nor settled, so nothing is known about fences
		}
	}
	if !errors.Is(renewed, semel.ErrLost) {
		seen = append(seen, fmt.Sprintf("the former holder renewed its claim (%v)", renewed))
	}
	if !errors.Is(settled, semel.ErrLost) {
		seen = append(seen, fmt.Sprintf("the former holder settled the claim of the next one (%v)", settled))
	}
	return f.seen(seen, "Do not use this database for claims: it does not compare fences as it should.")
}

// reopened compares the fences before and after reopening a store.
func (c *checker) reopened(ctx context.Context, f Finding) Finding {
	var last semel.Fence
	var seen []string
	for i := range 3 {
		store, err := c.openStore(ctx, slog.New(slog.DiscardHandler))
		if err != nil {
			return f.failed(err)
		}
		rec, won, err := store.Claim(ctx, c.params(fmt.Sprint("reopened ", i), time.Minute))
		if err = mustWin(won, err); err != nil {
			return f.failed(errors.Join(err, store.Close()))
		}
		if rec.Fence <= last {
			seen = append(seen, fmt.Sprintf("fence %d, and %d after reopening", last, rec.Fence))
		}
		last = rec.Fence
		if err := store.Settle(ctx, rec.Digest, rec.Fence, semel.Settlement{State: semel.StateReleased}); err != nil {
			return f.failed(errors.Join(err, store.Close()))
		}
		if err := store.Close(); err != nil {
			return f.failed(err)
		}
	}
	return f.seen(seen, "Do not cache sequences and counters of this database per connection.")
}
