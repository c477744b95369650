package storecheck

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/waiting"
)

// retry bounds the tries of an interrupted step, for some seconds in all: about as long as a guard does.
var retry = waiting.Backoff{Tries: 12, First: 5 * time.Millisecond, Most: 500 * time.Millisecond} //nolint:gochecknoglobals // it is never changed.

// repeat tries a step until the answer is definite.
func repeat(ctx context.Context, step func() error) error {
	return retry.Do(ctx, func(err error) bool { return !definite(err) }, step)
}

// repeating is a store as a guard uses it: a verb that failed without a definite answer is repeated, which the contract
// of [semel.Store] makes safe. Without this, one statement that timed out would make the server look worse than it is
// for callers.
type repeating struct{ semel.Store }

// Unwrap lets [semel.StoreAs] find the store.
func (r repeating) Unwrap() semel.Store { return r.Store }

// Claim implements [semel.Store].
func (r repeating) Claim(ctx context.Context, p semel.ClaimParams) (rec semel.Record, won bool, err error) {
	err = repeat(ctx, func() error {
		rec, won, err = r.Store.Claim(ctx, p)
		return err
	})
	return rec, won, err
}

// Renew implements [semel.Store].
func (r repeating) Renew(ctx context.Context, d semel.Digest, f semel.Fence, lease time.Duration) error {
	return repeat(ctx, func() error { return r.Store.Renew(ctx, d, f, lease) })
}

// Settle implements [semel.Store].
func (r repeating) Settle(ctx context.Context, d semel.Digest, f semel.Fence, to semel.Settlement) error {
	return repeat(ctx, func() error { return r.Store.Settle(ctx, d, f, to) })
}

// Lookup implements [semel.Store].
func (r repeating) Lookup(ctx context.Context, d semel.Digest) (rec semel.Record, err error) {
	err = repeat(ctx, func() error {
		rec, err = r.Store.Lookup(ctx, d)
		return err
	})
	return rec, err
}

// definite reports whether an error would recur.
func definite(err error) bool {
	recurring := []error{semel.ErrLost, semel.ErrSettled, semel.ErrNotFound, semel.ErrFull, semel.ErrClosed, semel.ErrKeyInvalid, errOnPurpose}
	return slices.ContainsFunc(recurring, func(sentinel error) bool { return errors.Is(err, sentinel) })
}
