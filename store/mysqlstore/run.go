package mysqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/envelope"
)

// maxRunQueries bounds the statements of one call of [Run].
const maxRunQueries = 16

// maxResultBytes bounds a [Result] as it is kept.
const maxResultBytes = 128

var errRunQueries = fmt.Errorf("mysqlstore: run: want 1 to %d statements", maxRunQueries)

// Query is a statement with its arguments.
type Query struct {
	SQL  string
	Args []any
}

// Result holds what the server says of a statement: the first number that
// AUTO_INCREMENT gave, if any, and how many rows it changed.
type Result struct {
	LastInsertID int64 `json:"last_insert_id,omitempty"`
	RowsAffected int64 `json:"rows_affected,omitempty"`
}

// Exec is [Run] for one statement. Every later caller gets its result.
//
//	made, err := mysqlstore.Exec(ctx, guard, key, fingerprint,
//		"INSERT INTO invoices (customer, amount) VALUES (?, ?)", customer, amount)
func Exec(ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, query string, args ...any) (Result, error) {
	s, err := storeOf(g)
	if err != nil {
		return Result{}, err
	}
	t := s.runner(ctx, g.Digest(k), []Query{{SQL: query, Args: args}})
	if p := g.Policy(); t.shares && !g.Seals() && !p.Dedup && p.MaxOutcomeBytes >= maxResultBytes {
		result, err := t.atOnce(ctx, g, k, fp)
		if err == nil || !errors.Is(err, semel.ErrRolledBack) || ctx.Err() != nil {
			return result, err
		}
	}
	return doQueries(ctx, g, k, fp, t, func(results []Result) (Result, error) { return results[0], nil })
}

// atOnce makes the outcome in the transaction that it shares, without a function.
func (t *runner) atOnce(ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint) (Result, error) {
	t.atCommit = true
	claim, rec, err := g.BeginTx(ctx, t, k, fp)
	t.atCommit = false
	switch {
	case err != nil:
		return Result{}, err
	case rec != nil:
		result, final, err := envelope.Read[Result](rec.Outcome)
		if final != nil {
			err = &semel.FinalError{Message: *final}
		}
		return result, err
	}
	made := t.shared
	if err := claim.Complete(nil, nil); err != nil { //nolint:contextcheck // what runs here must not end with the context.
		return Result{}, err
	}
	return made.results[0], nil
}

// Run is [Do] for work that consists of statements known beforehand, at most 16 of
// them. fn makes the outcome from their results: one [Result] for each, in order. The first
// statement that fails is the error of the work, and fn does not run. Rows that a
// statement returns are not read.
//
// With Options.Together, calls that are made at the same time share a commit; fn must
// then return at once. It may run several times for one call, as the work of Do may,
// and so may statements: those of a duplicate that this process does not know about run
// until its record violates the unique key, and are rolled back.
//
// With a context of Do's work, Run works in that transaction.
func Run[T any](
	ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, queries []Query, fn func(results []Result) (T, error),
) (T, error) {
	s, err := storeOf(g)
	if err == nil && (len(queries) == 0 || len(queries) > maxRunQueries) {
		err = errRunQueries
	}
	if err != nil {
		var none T
		return none, err
	}
	return doQueries(ctx, g, k, fp, s.runner(ctx, g.Digest(k), queries), fn)
}

// runner makes the statements, with others where that is allowed.
func (s *Store) runner(ctx context.Context, d semel.Digest, queries []Query) *runner {
	t := &runner{store: s, queries: queries}
	if s.runs != nil && s.transactions.WorkOf(ctx) == nil && !s.seen.Has(d) {
		t.values, t.shares = s.runs.valuesOf(queries)
	}
	return t
}

func doQueries[T any](ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, t *runner, fn func(results []Result) (T, error)) (T, error) {
	return semel.DoTx(ctx, g, t, k, fp, func(ctx context.Context) (T, error) {
		results, err := t.results(ctx)
		if err != nil {
			var none T
			return none, err
		}
		return fn(results)
	})
}

// exec runs the statements in an open transaction.
func exec(ctx context.Context, in Execer, queries []Query) ([]Result, error) {
	results := make([]Result, len(queries))
	for i, q := range queries {
		res, err := in.ExecContext(ctx, q.SQL, q.Args...)
		if err != nil {
			return nil, err
		}
		if results[i].LastInsertID, err = res.LastInsertId(); err != nil {
			return nil, err
		}
		if results[i].RowsAffected, err = res.RowsAffected(); err != nil {
			return nil, err
		}
	}
	return results, nil
}
