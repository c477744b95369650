package mysqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/txn"
	"github.com/semel-dev/semel/store/internal/verb"
)

// Join is [Do] in a transaction that the caller has begun, with whatever
// library, and that the caller commits: the result is recorded in it, and only
// that commit makes it the answer of every later caller. What failed is undone
// to where Join began, and leaves the transaction open, unless the server has
// rolled all of it back (a deadlock, or with innodb_snapshot_isolation a snapshot
// that is older than the first caller's commit): then the error is that of the
// server, and the transaction has to begin again.
//
// tx is the handle of that transaction, which runs SQL unchanged: *sql.Tx,
// *sqlx.Tx, GORM's tx.Statement.ConnPool, ent's transaction, the *sql.Tx inside
// of bun.Tx. It must be in the store's database.
//
// An error marked with [semel.MarkUnknown] is recorded in the transaction as well:
// commit it, so that nothing runs twice.
func Join[T any](
	ctx context.Context, g *semel.Guard, tx Execer, k semel.Key, fp semel.Fingerprint, fn func(ctx context.Context) (T, error),
) (T, error) {
	s, err := storeOf(g)
	if err != nil {
		var none T
		return none, err
	}
	return semel.DoTx(ctx, g, joiner{s, tx, s.transactions.Caller(placeOf(tx))}, k, fp, fn)
}

// joiner opens savepoints in a transaction of the caller's.
type joiner struct {
	store *Store
	in    Execer // the caller's transaction
	work  *txn.Work[txHandle]
}

// Joined says that the transaction is open already.
func (joiner) Joined() {}

// Transaction implements [semel.Transactor].
func (j joiner) Transaction(ctx context.Context) (semel.Tx, error) {
	if _, pool := j.in.(*sql.DB); pool || j.in == nil {
		return nil, errors.New("mysqlstore: join: a *sql.DB is not a transaction (begin one, and hand over that)")
	}
	if err := j.store.gate.Check("join a transaction", verb.Writes); err != nil {
		return nil, err
	}
	transactions := &j.store.transactions
	if tx, ok := j.in.(*sql.Tx); ok {
		if w := transactions.WorkOf(ctx); w != nil && w.Place.execer == Execer(tx) {
			return transactions.Within(w), nil
		}
	}
	return transactions.Within(j.work), nil
}

// placeOf returns the transaction of the caller's handle. One that can end it is
// a transaction.
func placeOf(in Execer) txHandle {
	_, ends := in.(interface {
		Commit() error
		Rollback() error
	})
	return txHandle{execer: in, doubtful: !ends}
}
