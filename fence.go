package semel

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
)

// Fence is a number that grows with every claim, across all keys of a store,
// and is never given twice: not after a takeover, a sweep or a restart. A
// downstream system that remembers the highest fence it has seen can refuse a
// holder that lost its claim; docs/guards.md shows how. Zero means none.
//
// A Fence can be handed to database/sql and pgx as it is. Written as a decimal
// number, it fits a BIGINT as long as [Fence.Int64] has no error, which holds
// for every store of this module.
type Fence uint64

type fenceKey struct{}

// FenceFrom returns the fence of the innermost claim under which ctx works, in
// a transaction or not, or 0. Hand it to systems that can refuse a holder with
// an older one.
func FenceFrom(ctx context.Context) Fence {
	if f, ok := ctx.Value(fenceKey{}).(*Fence); ok {
		return *f
	}
	return 0
}

// Int64 returns the fence as a BIGINT holds it. It returns an error for zero
// (the context was not that of a claim), so that a write without a claim does
// not pass for the oldest holder's, and for a fence beyond BIGINT, which would
// turn negative and compare as the smallest.
func (f Fence) Int64() (int64, error) {
	switch {
	case f == 0:
		return 0, errors.New("semel: no fence: hand on the context of the claim's work")
	case f > math.MaxInt64:
		return 0, fmt.Errorf("semel: fence %d does not fit a BIGINT: use NUMERIC(20)", uint64(f))
	}
	return int64(f), nil
}

// Value makes a Fence an argument of database/sql: see [Fence.Int64] for its
// errors.
func (f Fence) Value() (driver.Value, error) { return f.Int64() }
