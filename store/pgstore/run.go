package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
)

// maxRunQueries bounds the statements of one call of [Run].
const maxRunQueries = 16

// Run is [Do] for work that is statements known beforehand: they travel with the
// claim, in one round trip, and fn makes the result of what they returned, read into
// memory: one [pgx.Rows] for each statement, in order. The first statement that
// fails is the error of the work, and fn does not run.
//
// With Options.Together, calls that are made at the same time share a commit; fn is
// then to return at once. It may run several times for one call, as the work of Do may.
//
// A call has at most 16 statements. With a context of Do's work, Run works in that transaction.
func Run[T any](
	ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, queries []Query, fn func(rows []pgx.Rows) (T, error),
) (T, error) {
	var none T
	s, err := storeOf(g)
	switch {
	case err != nil:
		return none, err
	case len(queries) == 0 || len(queries) > maxRunQueries:
		return none, errRunQueries
	}
	return doQueries(ctx, g, k, fp, &starter{store: s, queries: queries, shares: true}, fn)
}

// doQueries makes the queries of a starter.
func doQueries[T any](
	ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, of *starter, fn func(rows []pgx.Rows) (T, error),
) (T, error) {
	return semel.DoTx(ctx, g, of, k, fp, func(ctx context.Context) (T, error) {
		rows, err := txFrom(ctx).all(ctx, of.queries)
		if err != nil {
			var none T
			return none, err
		}
		return fn(rows)
	})
}
