package sqlitetx

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/txn"
)

// Do is [semel.DoTx] in the SQLite database of the guard's store: fn writes in
// tx, and its rows commit together with its result, or not at all (promise 4).
// Every later caller gets that result.
//
// fn must not write by another connection, which would wait for this one, must
// return the errors it meets, and must leave Commit and Rollback alone. It
// holds the only writer of the file. With a context of fn, Do is a savepoint:
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
	return semel.DoTx(ctx, g, s.Transactor(), k, fp, func(ctx context.Context) (T, error) {
		tx := TxFrom(ctx)
		if tx == nil {
			var none T
			return none, errors.New("sqlitetx: the transaction around this one was joined by a handle that is not a *sql.Tx (use Join with that handle)")
		}
		return fn(ctx, tx)
	})
}

// Join is [Do] in a transaction that the caller has begun, with whatever
// library, and that the caller commits: the result is recorded in it, and only
// that commit makes it the answer of every later caller. What failed is undone
// to where Join began, and leaves the transaction open.
//
// tx is the handle of that transaction, which runs SQL unchanged: *sql.Tx,
// *sqlx.Tx, GORM's tx.Statement.ConnPool, the *sql.Tx inside of bun.Tx.
//
// Join before the transaction has read anything: SQLite refuses to write where
// what was read has been overwritten meanwhile. An error marked with
// [semel.MarkUnknown] is also recorded in the transaction: commit it, so that
// nothing runs twice.
func Join[T any](
	ctx context.Context, g *semel.Guard, tx Execer, k semel.Key, fp semel.Fingerprint, fn func(ctx context.Context) (T, error),
) (T, error) {
	var none T
	s, err := storeOf(g)
	if err != nil {
		return none, err
	}
	if err := s.begun(ctx, "join"); err != nil {
		return none, err
	}
	s.gate.Leave()
	in := &txHandle{sqlSession: sqlSession{Execer: tx, store: s}}
	in.tx, _ = tx.(*sql.Tx)
	return semel.DoTx(ctx, g, joiner{s, tx, s.transactions.Caller(in)}, k, fp, fn)
}

// joiner opens savepoints in a transaction of the caller's.
type joiner struct {
	store  *Store
	execer Execer
	work   *txn.Work[*txHandle]
}

// Joined says that the transaction is open already.
func (joiner) Joined() {}

func (j joiner) Transaction(ctx context.Context) (semel.Tx, error) {
	if _, pool := j.execer.(*sql.DB); pool || j.execer == nil {
		return nil, errors.New("sqlitetx: join: a *sql.DB is not a transaction (begin one, and hand over that)")
	}
	transactions := &j.store.transactions
	if tx := j.work.Place.tx; tx != nil {
		if outer := transactions.WorkOf(ctx); outer != nil && outer.Place.tx == tx {
			return transactions.Within(outer), nil
		}
	}
	return transactions.Within(j.work), nil
}

// storeOf returns the store of the guard, below its wrappers.
func storeOf(g *semel.Guard) (*Store, error) {
	s, ok := semel.StoreAs[*Store](g.Store())
	if !ok {
		return nil, fmt.Errorf("sqlitetx: the guard keeps its records in a %T (make it with the store of sqlitetx.Open)", g.Store())
	}
	return s, nil
}
