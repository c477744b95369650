package pgstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// DoSQL is [Do] for those who work with database/sql, by whatever driver: db is
// a pool of the database that holds the store's schema.
//
// Should fn commit tx itself, its rows are committed with a claim, and the
// outcome is recorded right after; a crash in between leaves it unknown. Should
// it roll back and then succeed, nothing happened ([semel.ErrRolledBack]).
func DoSQL[T any](
	ctx context.Context, g *semel.Guard, db *sql.DB, k semel.Key, fp semel.Fingerprint, fn func(ctx context.Context, tx *sql.Tx) (T, error),
) (T, error) {
	s, err := storeOf(g)
	if err != nil {
		var none T
		return none, err
	}
	return semel.DoTx(ctx, g, SQLTransactor(db, s, nil), k, fp, func(ctx context.Context) (T, error) {
		return fn(ctx, SQLTxFrom(ctx))
	})
}

// SQLTransactor opens transactions on a pool of database/sql, for
// [semel.Guard.BeginTx] and [semel.DoTx]; the work finds them by [SQLTxFrom]. db
// is a pool of the database that holds the store's schema. o may be nil; it
// must not be read-only. Inside of a transaction of this store, with its context,
// they are savepoints of that one.
func SQLTransactor(db *sql.DB, s *Store, o *sql.TxOptions) semel.Transactor {
	return &sqlTransactor{store: s, db: db, opts: o}
}

// SQLTxFrom returns the transaction of database/sql under which ctx works, or
// nil.
func SQLTxFrom(ctx context.Context) *sql.Tx {
	if t := sqlTxFrom(ctx); t != nil {
		return t.tx
	}
	return nil
}

type sqlTxKey struct{}

func sqlTxFrom(ctx context.Context) *sqlTransaction {
	t, _ := ctx.Value(sqlTxKey{}).(*sqlTransaction)
	return t
}

type sqlTransactor struct {
	store *Store
	db    *sql.DB
	opts  *sql.TxOptions
}

var errNoSQLTx = errors.New("pgstore: the transaction around this one was joined by a handle that is not a *sql.Tx (use Join with that handle)")

// Nested is [Transactor.Nested].
func (t *sqlTransactor) Nested(ctx context.Context) semel.Transactor {
	s := t.store
	switch outer := s.sqlAround(ctx); {
	case outer != nil && outer.tx == nil:
		return &Transactor{store: s, err: errNoSQLTx}
	case outer != nil:
		return &sqlJoiner{store: s, in: outer.tx, tx: outer.tx, outer: outer}
	case s.around(ctx) != nil:
		return &Transactor{store: s, err: errAroundPgx}
	}
	return t
}

// Transaction implements [semel.Transactor].
func (t *sqlTransactor) Transaction(ctx context.Context) (semel.Tx, error) {
	switch {
	case t.db == nil:
		return nil, errors.New("pgstore: begin a transaction: the *sql.DB is nil")
	case t.opts != nil && t.opts.ReadOnly:
		return nil, errors.New("pgstore: begin a transaction: sql.TxOptions.ReadOnly is set (there is nothing to make happen once in a transaction that only reads)")
	}
	if err := t.store.gate.Enter("begin a transaction", verb.Writes); err != nil {
		return nil, err
	}
	conn, err := t.db.Conn(ctx)
	if err != nil {
		t.store.gate.Leave()
		return nil, translate("begin a transaction", err)
	}
	tx := &sqlTransaction{store: t.store}
	tx.in = &ownSession{store: t.store, conn: conn, opts: t.opts, bind: func(begun *sql.Tx) { tx.tx = begun }}
	return tx, nil
}
