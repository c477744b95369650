package outbox

import (
	"context"

	"github.com/semel-dev/semel"
)

// LeaseKey returns the key of a partition's lease.
func LeaseKey(ctx context.Context, o *Outbox, number int) (semel.Key, error) {
	tables, err := o.identity(ctx)
	return partitionKey(tables, number), err
}
