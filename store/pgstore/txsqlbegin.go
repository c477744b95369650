package pgstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// SQLTxFrom returns the transaction of database/sql under which ctx works, or
// nil. Should the work commit it itself, its rows are committed with a claim, and
// the outcome is recorded right after; a crash in between leaves it unknown.
// Should the work roll back and then succeed, nothing happened
// ([semel.ErrRolledBack]).
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

// sqlLevel is [TxOptions.Isolation] for database/sql.
func sqlLevel(isolation string) sql.IsolationLevel {
	switch pgx.TxIsoLevel(isolation) {
	case pgx.ReadUncommitted, pgx.ReadCommitted:
		return sql.LevelReadCommitted
	case pgx.RepeatableRead:
		return sql.LevelRepeatableRead
	case pgx.Serializable:
		return sql.LevelSerializable
	}
	return sql.LevelDefault
}

var errNoSQLTx = errors.New("pgstore: the transaction around this one was joined by a handle that is not a *sql.Tx (use Join with that handle)")

// nestedSQL is Nested with TxOptions.DB.
func (t *transactor) nestedSQL(ctx context.Context) semel.Transactor {
	s := t.store
	switch outer := s.sqlAround(ctx); {
	case outer != nil && outer.tx == nil:
		return &transactor{store: s, err: errNoSQLTx}
	case outer != nil:
		return &sqlJoiner{store: s, in: outer.tx, tx: outer.tx, outer: outer}
	case s.around(ctx) != nil:
		return &transactor{store: s, err: errAroundPgx}
	}
	return t
}

// beginSQL opens a transaction on TxOptions.DB.
func (t *transactor) beginSQL(ctx context.Context) (semel.Tx, error) {
	if err := t.store.gate.Enter("begin a transaction", verb.Writes); err != nil {
		return nil, err
	}
	conn, err := t.db.Conn(ctx)
	if err != nil {
		t.store.gate.Leave()
		return nil, translate("begin a transaction", err)
	}
	tx := &sqlTransaction{store: t.store}
	tx.in = &ownSession{store: t.store, conn: conn, level: sqlLevel(t.isolation), bind: func(begun *sql.Tx) { tx.tx = begun }}
	return tx, nil
}
