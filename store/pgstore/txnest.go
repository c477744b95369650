package pgstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// nest puts a transaction inside of another: a savepoint.
type nest struct {
	begin, release, undo, drop *statement

	set bool // the savepoint is there
}

func newNest(depth int) *nest {
	name := fmt.Sprintf("SAVEPOINT semel_%d", depth)
	return &nest{
		begin: &statement{sql: name}, release: &statement{sql: "RELEASE " + name},
		undo: &statement{sql: "ROLLBACK TO " + name}, drop: &statement{sql: "RELEASE " + name},
	}
}

// turn lets one intent at a time be worked on inside of a transaction: savepoints that
// interleave would undo each other's rows.
type turn struct{ taken atomic.Bool }

var errAtOnce = errors.New("pgstore: another intent is being worked on inside of this transaction (a transaction is used by one goroutine at a time)")

func (t *turn) begin() error {
	if t != nil && !t.taken.CompareAndSwap(false, true) {
		return errAtOnce
	}
	return nil
}

func (t *turn) give() {
	if t != nil {
		t.taken.Store(false)
	}
}

// joiner opens savepoints in a transaction that is open: outer, or else one of
// the caller's on conn.
type joiner struct {
	store *Store
	outer *transaction
	conn  *pgx.Conn
	start *starter // of TxOptions.Queries
	last  *transaction
}

// Refusals of a transaction inside of one that another driver opened.
var (
	errAroundSQL = errors.New("pgstore: the transaction around this one is of database/sql, and pgx cannot work in it (set TxOptions.DB, or use Join there)")
	errAroundPgx = errors.New("pgstore: the transaction around this one is of pgx, and database/sql cannot work in it (use Do, Store.Transactor or Join there)")
)

// around returns the innermost transaction of this store under which ctx works, or nil.
func (s *Store) around(ctx context.Context) *transaction {
	t := txFrom(ctx)
	for t != nil && (t.store != s || t.state == txEnded) {
		t = t.outer
	}
	return t
}

// sqlAround is around for database/sql.
func (s *Store) sqlAround(ctx context.Context) *sqlTransaction {
	t := sqlTxFrom(ctx)
	for t != nil && (t.store != s || t.state == txEnded) {
		t = t.outer
	}
	return t
}

// within reports whether ctx works in a transaction of this store.
func (s *Store) within(ctx context.Context) bool {
	return s.around(ctx) != nil || s.sqlAround(ctx) != nil
}

// nestedOr joins the transaction of this store under which ctx works; without one it returns alone.
func (s *Store) nestedOr(ctx context.Context, start *starter, alone semel.Transactor) semel.Transactor {
	if outer := s.around(ctx); outer != nil {
		return &joiner{store: s, outer: outer, start: start}
	}
	if s.sqlAround(ctx) != nil {
		return &transactor{store: s, err: errAroundSQL}
	}
	return alone
}

// Joined says that the transaction is open already.
func (*joiner) Joined() {}

// Transaction opens a savepoint. Only what is known of work that was undone is
// recorded in a transaction of its own, because the one around it may also be
// undone: that is the one after a claim which was won and never came to its
// Commit.
func (j *joiner) Transaction(ctx context.Context) (semel.Tx, error) {
	if j.last != nil && j.last.won && !j.last.tried {
		j.last = nil // what follows is another attempt
		return j.store.transaction(ctx, "")
	}
	t, err := j.store.nested(j.outer, j.conn)
	if err != nil {
		return nil, err
	}
	if j.start != nil {
		t.first = &first{starter: j.start}
	}
	j.last = t
	return t, nil
}

var errNotOpen = errors.New("pgstore: no transaction is open to join (begin one, and hand over that)")

// nested opens a transaction inside of another one.
func (s *Store) nested(outer *transaction, conn *pgx.Conn) (*transaction, error) {
	t := newTransaction(s, "")
	t.depth, t.rowFirst = 1, true // the row is right at every isolation
	if outer != nil {
		var err error
		if conn, err = outer.work.conn(); err != nil {
			return nil, errNotOpen
		}
		t.depth, t.rowFirst = outer.depth+1, outer.rowFirst
	}
	if conn == nil || conn.IsClosed() || conn.PgConn().TxStatus() == 'I' {
		return nil, errNotOpen
	}
	if outer != nil {
		t.within = &outer.turn
	}
	if err := t.within.begin(); err != nil {
		return nil, err
	}
	if err := s.gate.Enter("join a transaction", verb.Writes); err != nil {
		t.within.give()
		return nil, err
	}
	t.nest = newNest(t.depth)
	t.use(conn)
	return t, nil
}
