package pgstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// Join is [Do] in a transaction that the caller has begun, with whatever
// library, in the database that holds the store's schema, and that the caller
// commits: the result is recorded in it, and only that commit makes it the
// answer of every later caller. What failed is undone to where Join began, and
// leaves the transaction open.
//
// Twins wait until the caller's transaction ends. What is recorded about work
// that was undone (an error made with [semel.MarkFinal] or [semel.MarkUnknown])
// is committed at once, by a connection of the store's pool.
//
// tx runs SQL unchanged; of a transaction of pgx take [Pgx].
func Join[T any](
	ctx context.Context, g *semel.Guard, tx Execer, k semel.Key, fp semel.Fingerprint, fn func(ctx context.Context) (T, error),
) (T, error) {
	var t semel.Transactor
	s, err := storeOf(g)
	if in, ok := tx.(pgxTx); ok && err == nil {
		t, err = s.joinPgx(ctx, in.tx)
	} else if err == nil {
		t = s.joinSQL(ctx, tx)
	}
	if err != nil {
		var none T
		return none, err
	}
	return semel.DoTx(ctx, g, t, k, fp, fn)
}

// Pgx makes an [Execer] for [Join] of a transaction of pgx.
func Pgx(tx pgx.Tx) Execer { return pgxTx{tx} }

type pgxTx struct{ tx pgx.Tx }

var errPgxExecer = errors.New("pgstore: what Pgx returns is for Join alone (use the pgx.Tx)")

// ExecContext implements [Execer].
func (pgxTx) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	return nil, errPgxExecer
}

// QueryContext implements [Execer].
func (pgxTx) QueryContext(context.Context, string, ...any) (*sql.Rows, error) {
	return nil, errPgxExecer
}

func (s *Store) joinPgx(ctx context.Context, tx pgx.Tx) (*joiner, error) {
	if tx == nil {
		return nil, errNotOpen
	}
	if outer, own := tx.(*work); own {
		return &joiner{store: s, outer: outer.tx}, nil
	}
	// An empty batch sends nothing, but says whether the transaction is open.
	if err := tx.SendBatch(ctx, &pgx.Batch{}).Close(); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotOpen, err)
	}
	return &joiner{store: s, conn: tx.Conn()}, nil
}

// sqlJoiner opens savepoints in a transaction of database/sql.
type sqlJoiner struct {
	store *Store
	in    Execer
	tx    *sql.Tx
	outer *sqlTransaction
	last  *sqlTransaction
}

func (s *Store) joinSQL(ctx context.Context, in Execer) *sqlJoiner {
	j := &sqlJoiner{store: s, in: in}
	j.tx, _ = in.(*sql.Tx)
	if outer := sqlTxFrom(ctx); outer != nil && outer.tx == j.tx && j.tx != nil {
		j.outer = outer
	}
	return j
}

// Joined says that the transaction is open already.
func (*sqlJoiner) Joined() {}

// Transaction is that of [joiner].
func (j *sqlJoiner) Transaction(ctx context.Context) (semel.Tx, error) {
	switch {
	case j.last != nil && j.last.won && !j.last.tried:
		j.last = nil
		return j.store.transaction(ctx, "")
	case j.in == nil:
		return nil, errors.New("pgstore: join: the transaction is nil")
	}
	t := &sqlTransaction{store: j.store, tx: j.tx, depth: 1}
	if j.outer != nil {
		t.depth, t.within = j.outer.depth+1, &j.outer.turn
	}
	if err := t.within.begin(); err != nil {
		return nil, err
	}
	if err := j.store.gate.Enter("join a transaction", verb.Writes); err != nil {
		t.within.give()
		return nil, err
	}
	t.in = &savepointSession{Execer: j.in, name: "semel_sql_" + strconv.Itoa(t.depth)}
	j.last = t
	return t, nil
}
