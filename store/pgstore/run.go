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
	t, d := s.transactorOf(ctx), g.Digest(k)
	if _, joined := t.(*joiner); !joined {
		known := s.seen.Has(d)
		t = &starter{store: s, queries: queries, shares: !known && s.shares(queries)}
	}
	v, err := semel.DoTx(ctx, g, t, k, fp, func(ctx context.Context) (T, error) {
		rows, err := txFrom(ctx).all(ctx, queries)
		if err != nil {
			return none, err
		}
		return fn(rows)
	})
	s.seen.Add(d)
	return v, err
}

// all are the rows of the queries: read already, or asked for now.
func (t *transaction) all(ctx context.Context, queries []Query) ([]pgx.Rows, error) {
	all := make([]pgx.Rows, len(queries))
	if f := t.first; f != nil && f.sent {
		for i := range f.rows {
			all[i] = &f.rows[i]
		}
		return all, f.err
	}
	for i, q := range queries {
		rows, err := t.work.Query(ctx, q.SQL, q.Args...)
		if err != nil {
			return nil, err
		}
		read := &memRows{typeMap: t.wire.conn.TypeMap(), conn: t.wire.conn, fields: rows.FieldDescriptions()}
		for rows.Next() {
			read.add(rows.RawValues())
		}
		if rows.Close(); rows.Err() != nil {
			return nil, rows.Err()
		}
		read.tag, all[i] = rows.CommandTag(), read
	}
	return all, nil
}
