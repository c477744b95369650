package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
)

// Do is [semel.DoTx] in the database of the guard's store: fn writes in tx, and
// its rows commit together with its result, or not at all (promise 4). Every
// later caller gets that result.
//
// fn must return the errors it meets: on some of them (a deadlock) the server
// rolls back the transaction. It must leave Commit and Rollback alone, and
// statements that commit on their own (CREATE, ALTER, DROP, TRUNCATE, LOCK
// TABLES and the like), and USE, which leaves the connection in another database
// for its next user. With a context of fn, Do is a savepoint:
// its result commits with the transaction around it, and what failed in it
// leaves that one open.
func Do[T any](
	ctx context.Context, g *semel.Guard, k semel.Key, fp semel.Fingerprint, fn func(ctx context.Context, tx *sql.Tx) (T, error),
) (T, error) {
	s, err := storeOf(g)
	if err != nil {
		var none T
		return none, err
	}
	return semel.DoTx(ctx, g, s.Transactor(nil), k, fp, func(ctx context.Context) (T, error) {
		tx := TxFrom(ctx)
		if tx == nil {
			var none T
			return none, errors.New("mysqlstore: the transaction around this one was joined by a handle that is no *sql.Tx (use Join with that handle)")
		}
		return fn(ctx, tx)
	})
}

// storeOf is the store of the guard, below whatever wraps it.
func storeOf(g *semel.Guard) (*Store, error) {
	s, ok := semel.StoreAs[*Store](g.Store())
	if !ok {
		return nil, fmt.Errorf("mysqlstore: the guard keeps its records in a %T (make it with the store of mysqlstore.Open or mysqlstore.New)", g.Store())
	}
	return s, nil
}
