package mysqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/semel-dev/semel"
)

// Join is [Do] in a transaction that the caller has begun, with whatever
// library, and that the caller commits: the result is recorded in it, and only
// that commit makes it the answer of every later caller. What failed is undone
// to where Join began, and leaves the transaction open, unless the server has
// rolled all of it back (a deadlock): then the error is that of the server.
//
// tx is the handle of that transaction, which runs SQL as it stands: *sql.Tx,
// *sqlx.Tx, GORM's tx.Statement.ConnPool, ent's transaction, the *sql.Tx inside
// of bun.Tx. It must be in the store's database.
//
// An error marked with [semel.MarkUnknown] is recorded in the transaction, too:
// commit it, so that nothing runs twice.
func Join[T any](
	ctx context.Context, g *semel.Guard, tx Execer, k semel.Key, fp semel.Fingerprint, fn func(ctx context.Context) (T, error),
) (T, error) {
	s, err := storeOf(g)
	if err != nil {
		var none T
		return none, err
	}
	return semel.DoTx(ctx, g, joiner{s, &work{store: s, place: place{execer: tx}}}, k, fp, fn)
}

// joiner opens savepoints in a transaction of the caller's.
type joiner struct {
	store  *Store
	around *work // the caller's transaction
}

// Joined says that the transaction is open already.
func (joiner) Joined() {}

// Transaction implements [semel.Transactor].
func (j joiner) Transaction(ctx context.Context) (semel.Tx, error) {
	execer := j.around.place.execer
	if _, pool := execer.(*sql.DB); pool || execer == nil {
		return nil, errors.New("mysqlstore: join: a *sql.DB is no transaction (begin one, and hand over that)")
	}
	if err := j.store.beginChange(); err != nil {
		return nil, err
	}
	defer j.store.end()
	around := j.around
	if tx, ok := execer.(*sql.Tx); ok {
		if w := j.store.workOf(ctx); w != nil && w.place.execer == Execer(tx) {
			around = w
		}
	}
	_, ends := execer.(interface {
		Commit() error
		Rollback() error
	})
	return &savepoint{store: j.store, parent: around, place: around.place, doubtful: !ends}, nil
}
