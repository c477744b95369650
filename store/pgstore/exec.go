package pgstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/envelope"
)

// Exec is [Do] for work that is one statement: an INSERT, UPDATE, DELETE or
// MERGE that returns exactly one row, of which it makes a T by the JSON names
// of the columns. The row and the record are one statement in one round trip,
// without BEGIN and COMMIT.
//
//	invoice, err := pgstore.Exec[Invoice](ctx, guard, key, fingerprint,
//		"INSERT INTO invoices (customer, amount) VALUES ($1, $2) RETURNING id, amount", customer, amount)
//
// A statement that returns no row, or several, changes nothing; the errors are
// [pgx.ErrNoRows] and [pgx.ErrTooManyRows]. A duplicate that this process has not
// met executes the statement until its record meets the first one, which undoes
// it: what a statement does besides its rows, such as counting up a sequence, may
// happen for a duplicate.
//
// With Options.Together, calls that are made at the same time share a commit.
//
// sql has no semicolon at its end. With a context of [Do]'s work, Exec works in
// that transaction.
func Exec[T any](ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, sql string, args ...any) (T, error) {
	var v T
	s, err := storeOf(g)
	if err != nil {
		return v, err
	}
	q, err := s.queryOf(ctx, sql, args)
	if err != nil {
		return v, err
	}
	raw, err := s.exec(ctx, g, k, fp, q)
	if err != nil {
		return v, err
	}
	if err := envelope.Decode(raw, &v); err != nil {
		return v, fmt.Errorf("pgstore: exec: cannot decode the row into %T: %w", v, err)
	}
	return v, nil
}

// exec returns the row as JSON. What keeps the statement from being made at
// once, a twin, a record or an error of its own, is looked at by the
// guard in a transaction.
func (s *Store) exec(ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, q *Query) (json.RawMessage, error) {
	d := g.Digest(k)
	if !s.within(ctx) && s.oneTrip(g) && !s.seen.Has(d) {
		outcome, err := s.execAtOnce(ctx, g, k, fp, q)
		s.seen.Add(d)
		switch {
		case err == nil && outcome != nil:
			return decode(outcome)
		case err != nil && !errors.Is(err, semel.ErrRolledBack), ctx.Err() != nil:
			return nil, err
		}
	}
	again := &starter{store: s, queries: []Query{{SQL: fillStatement(s.sql["tx_exec_again"], q), Args: q.Args}}}
	return doQueries(ctx, g, k, fp, again, func(rows []pgx.Rows) (json.RawMessage, error) {
		text, err := pgx.CollectExactlyOneRow(rows[0], pgx.RowTo[string])
		return json.RawMessage(text), err
	})
}

// oneTrip reports whether statement and record can be one statement, which has
// the isolation of its connection. An outcome that is to be encrypted has to pass
// through this process.
func (s *Store) oneTrip(g *semel.Guard) bool {
	return !s.plain && s.tx.isolation == "" && s.transactions().lock.name != "" && !g.Policy().Dedup && !g.Seals()
}

// execAtOnce returns the outcome that was recorded now or before; none when it
// was recorded and the answer lost.
func (s *Store) execAtOnce(ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, q *Query) ([]byte, error) {
	t := &soloist{store: s, query: q, text: s.tx.exec(s.sql["tx_exec"], q), most: g.Policy().MaxOutcomeBytes}
	claim, rec, err := g.BeginTx(ctx, t, k, fp)
	switch {
	case err != nil:
		return nil, err
	case rec != nil:
		return rec.Outcome, nil
	}
	err = claim.Complete(nil, nil) //nolint:contextcheck // what runs here must not end with the context.
	return t.outcome, err
}

var errPgxOption = errors.New("pgstore: exec: options of pgx before the arguments are not supported")

// queryOf resolves named arguments.
func (s *Store) queryOf(ctx context.Context, sql string, args []any) (*Query, error) {
	if len(args) > 0 {
		switch first := args[0].(type) {
		case pgx.QueryRewriter:
			var err error
			if sql, args, err = first.RewriteQuery(ctx, nil, sql, args[1:]); err != nil {
				return nil, fmt.Errorf("pgstore: exec: %w", err)
			}
		case pgx.QueryExecMode, pgx.QueryResultFormats, pgx.QueryResultFormatsByOID:
			return nil, errPgxOption
		}
	}
	return &Query{SQL: sql, Args: slices.Clip(args)}, nil
}
