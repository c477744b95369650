package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
)

// Do is [semel.DoTx] in the PostgreSQL database of the guard's store: fn works
// in tx, and its rows commit together with its result, or not at all
// (promise 4). Every later caller gets that result.
//
// fn returns the errors it meets, and leaves Commit and Rollback alone. With a
// context of fn, Do is a savepoint: its result commits with the transaction
// around it, and what failed in it leaves that one open.
func Do[T any](
	ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, fn func(ctx context.Context, tx pgx.Tx) (T, error),
) (T, error) {
	s, err := storeOf(g)
	if err != nil {
		var none T
		return none, err
	}
	return semel.DoTx(ctx, g, s.Transactor(nil), k, fp, func(ctx context.Context) (T, error) {
		return fn(ctx, TxFrom(ctx))
	})
}

// storeOf is the store of the guard, below whatever wraps it.
func storeOf(g *semel.Guard) (*Store, error) {
	s, ok := semel.StoreAs[*Store](g.Store())
	if !ok {
		return nil, fmt.Errorf("pgstore: the guard keeps its records in a %T (make it with the store of pgstore.Open or pgstore.New)", g.Store())
	}
	return s, nil
}
