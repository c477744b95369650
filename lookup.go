package semel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

// Lookup returns what the store remembers of the intent; [ErrNotFound] for
// nothing. It is for status pages and operators: it decides nothing. An outcome
// that cannot be read is left out; the error then wraps [ErrUnreadable], and
// the rest of the record is still returned.
func (g *Guard) Lookup(ctx context.Context, k Key) (Record, error) {
	if err := k.Validate(); err != nil {
		return Record{}, err
	}
	rec, err := g.core.find(ctx, k)
	if err != nil {
		return Record{}, fmt.Errorf("semel: look up record: %w", err)
	}
	if err := g.core.reveal(&rec); err != nil {
		return rec, fmt.Errorf("semel: look up record: %w", err)
	}
	return rec, nil
}

// find is the store's Lookup under every secret, within the time for the store.
func (c *core) find(ctx context.Context, k Key) (Record, error) {
	return c.foremost(ctx, c.digests(k))
}

// foremost returns the record that counts for an intent among those under the
// digests, or [ErrNotFound].
func (c *core) foremost(ctx context.Context, ds []Digest) (Record, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	best, err := Record{}, ErrNotFound
	for _, d := range ds {
		rec, lookErr := c.store.Lookup(ctx, d)
		switch {
		case errors.Is(lookErr, ErrNotFound):
		case lookErr != nil:
			return Record{}, lookErr
		case err != nil || outranks(&rec, &best):
			best, err = rec, nil
		}
	}
	return best, err
}

// outranks orders the records of one intent the same way in every process:
// completed, cancelled, claimed, unknown; then by digest.
func outranks(a, b *Record) bool {
	if x, y := rank(a), rank(b); x != y {
		return x < y
	}
	return bytes.Compare(a.Digest[:], b.Digest[:]) < 0
}

func rank(r *Record) int {
	switch {
	case r.State == StateCompleted:
		return 0
	case r.State == StateCancelled:
		return 1
	case r.State == StateClaimed && !r.Lapsed():
		return 2
	}
	return 3
}

// lookup asks the store for the record.
func (a *attempt) lookup() (Record, error) {
	ctx := waiting.Within(a.ctx, time.Now().Add(a.guard.core.timeout))
	defer ctx.End()
	rec, err := a.guard.core.store.Lookup(ctx, a.digest)
	return rec, a.lookupError(err)
}

func (a *attempt) lookupError(err error) error {
	switch {
	case err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrClosed):
		return err
	case a.ctx.Err() != nil:
		return fmt.Errorf("look up: %w", context.Cause(a.ctx))
	}
	return fmt.Errorf("%w: look up: %w", ErrUnavailable, err)
}
