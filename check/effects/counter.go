package effects

import (
	"context"

	"github.com/semel-dev/semel/check"
)

// counter is every [check.Counter] of this package.
type counter struct {
	name      string
	perIntent bool
	count     func(ctx context.Context, fill func(string) string) (int64, error)
}

var _ check.Counter = (*counter)(nil)

// Name implements [check.Counter].
func (c *counter) Name() string { return c.name }

// PerIntent implements [check.Counter].
func (c *counter) PerIntent() bool { return c.perIntent }

// Count implements [check.Counter].
func (c *counter) Count(ctx context.Context, fill func(string) string) (int64, error) {
	return c.count(ctx, fill)
}
