package outbox

import (
	"context"
	"database/sql"

	"github.com/semel-dev/semel"
)

// LeaseKey returns the key of a partition's lease.
func LeaseKey(ctx context.Context, o *Outbox, number int) (semel.Key, error) {
	tables, err := o.identity(ctx)
	return partitionKey(tables, number), err
}

// PlanOfStats returns how PostgreSQL counts the messages that wait for an operator.
func PlanOfStats(ctx context.Context, o *Outbox) (plan string, err error) {
	q := o.names.query("EXPLAIN (FORMAT JSON) ").add(o.names.fill("stats"))
	err = o.reading(ctx, func(tx *sql.Tx) error { return tx.QueryRowContext(ctx, q.text.String()).Scan(&plan) })
	return plan, err
}
