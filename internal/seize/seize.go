// Package seize calls verbs of guards and claims that only packages of this repository may call: package semel does not export them.
package seize

import (
	"context"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/verdict"
)

// Claim claims an intent whatever the policy says: the absent intent of the key if before is nil, otherwise the intent
// of the record before, which is unknown or has lapsed. It returns the claim with its record, or no claim and the record
// that is in the way.
func Claim(ctx context.Context, g *semel.Guard, by verdict.By, k semel.Key, before *semel.Record) (*semel.Claim, *semel.Record, error) {
	return typed[func(*semel.Guard, context.Context, verdict.By, semel.Key, *semel.Record) (*semel.Claim, *semel.Record, error)](verdict.Seize)(g, ctx, by, k, before)
}

// Settle settles a claim as it says: the policy neither shortens the outcome nor replaces the retention.
func Settle(c *semel.Claim, s semel.Settlement) error {
	return typed[func(*semel.Claim, semel.Settlement) error](verdict.Settle)(c, s)
}

// CompleteIn completes a claim in a transaction of t, whose database keeps the claim's record: the rows of the work
// commit together with the outcome that it returns, and only as long as no other attempt has taken the claim over
// (promise 4). After an error the claim is open: the rows were rolled back, or, unless it wraps [semel.ErrRolledBack],
// [semel.ErrLost] or is the work's own, its next settlement finds out. False means that nothing was done, because these
// transactions cannot, or another one was in the way.
func CompleteIn(c *semel.Claim, t semel.Transactor, work func(context.Context) ([]byte, error)) (bool, error) {
	return typed[func(*semel.Claim, semel.Transactor, func(context.Context) ([]byte, error)) (bool, error)](verdict.CompleteIn)(c, t, work)
}

// typed returns the verb with its type, which the root package set.
func typed[F any](verb any) F {
	f, ok := verb.(F)
	must.Hold(ok, "package semel has set a %T", f)
	return f
}
