package pgstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

var (
	_ semel.Transactor = (*transactor)(nil)
	_ semel.Tx         = (*transaction)(nil)
)

// TxOptions are the settings of [Store.Transactor]. A nil *TxOptions is
// complete.
type TxOptions struct {
	// Isolation is the level of the transactions. Default: what the database
	// gives, default_transaction_isolation. Read committed costs least; under
	// the stricter ones, work that met another transaction is run again.
	Isolation pgx.TxIsoLevel
	// DB makes them transactions of database/sql, by whatever driver, which the work
	// finds by [SQLTxFrom]: a pool of the database that holds the store's schema.
	// Default: transactions of pgx, on the store's pool.
	DB *sql.DB
	// Queries are statements of the work that are known beforehand, at most 16: they
	// travel with the claim, in one round trip, and run only if the claim is won. The work
	// gets their rows by [RowsFrom], and is rolled back unless it calls that. The
	// transactor then serves a single call of [semel.DoTx] or of a function built on it.
	//
	// With Options.Together, concurrent calls share a commit, as those of [Run] do; the
	// work must then return at once, and its transaction has no other statements.
	Queries []Query
}

type transactor struct {
	store     *Store
	isolation string
	db        *sql.DB
	start     *starter // of TxOptions.Queries
	err       error
}

// Transactor opens transactions on the store's pool, or on TxOptions.DB, for
// [semel.Guard.BeginTx] and [semel.DoTx]; the work finds them by [TxFrom], or by
// [SQLTxFrom]. They read and write: there is nothing to make happen once in one that only reads. Inside of a transaction
// of this store, with its context, they are savepoints of that one, at its
// isolation. o may be nil.
func (s *Store) Transactor(o *TxOptions) semel.Transactor {
	t := &transactor{store: s}
	if o == nil {
		return t
	}
	t.isolation, t.db = string(o.Isolation), o.DB
	if _, ok := s.transactions().begin[t.isolation]; !ok {
		t.err = fmt.Errorf("pgstore: TxOptions.Isolation is %q, want one of pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable", t.isolation)
	}
	if n := len(o.Queries); n > 0 {
		t.start = &starter{store: s, isolation: t.isolation, queries: o.Queries, shares: true, must: true}
		if n > maxRunQueries {
			t.err = errRunQueries
		}
		if o.DB != nil {
			t.err = errors.New("pgstore: TxOptions has Queries and DB (Queries travel by pgx: leave one of them out)")
		}
	}
	return t
}

// Bare returns a transactor without the Queries.
func (t *transactor) Bare() semel.Transactor {
	return &transactor{store: t.store, isolation: t.isolation, db: t.db, err: t.err}
}

// Nested returns the transactor of an intent that begins with ctx: in work of
// this store, one that sets savepoints in the transaction around it.
func (t *transactor) Nested(ctx context.Context) semel.Transactor {
	switch {
	case t.err != nil:
		return t // Transaction refuses
	case t.db != nil:
		return t.nestedSQL(ctx)
	}
	return t.store.nestedOr(ctx, t.start, t)
}

// Transaction implements [semel.Transactor].
func (t *transactor) Transaction(ctx context.Context) (semel.Tx, error) {
	switch {
	case t.err != nil:
		return nil, t.err
	case t.db != nil:
		return t.beginSQL(ctx)
	case t.start != nil:
		return t.start.Transaction(ctx)
	}
	return t.store.transaction(ctx, t.isolation)
}

// transaction opens a transaction on the pool.
func (s *Store) transaction(ctx context.Context, isolation string) (*transaction, error) {
	if err := s.gate.Enter("begin a transaction", verb.Writes); err != nil {
		return nil, err
	}
	if isolation == "" {
		isolation = s.tx.isolation
	}
	t := newTransaction(s, isolation)
	if err := t.connect(ctx); err != nil {
		s.gate.Leave()
		return nil, translate("begin a transaction", err)
	}
	return t, nil
}

func newTransaction(s *Store, isolation string) *transaction {
	t := &transaction{store: s, sql: s.transactions(), isolation: isolation}
	t.work.tx, t.wire.into, t.scratch = t, t, t.memory[:0]
	return t
}

type txKey struct{}

// TxFrom returns the transaction under which ctx works, of whatever store, or
// nil. Its Commit is an error, because the transaction ends with the work; after
// its Rollback nothing of the work is committed. Its Begin sets a savepoint.
func TxFrom(ctx context.Context) pgx.Tx {
	if t := txFrom(ctx); t != nil {
		return &t.work
	}
	return nil
}

func txFrom(ctx context.Context) *transaction {
	t, _ := ctx.Value(txKey{}).(*transaction)
	return t
}

// txShared is shared by all transactions of a store.
type txShared struct {
	// isolation is the database's default, with which transactions begin where
	// the connections of the pool have another one; "" where they have not.
	isolation string

	once       sync.Once
	statements *txStatements
	texts      execTexts
}

// transactions returns the statements that transactions send.
func (s *Store) transactions() *txStatements {
	s.tx.once.Do(func() {
		named := s.pool.Config().ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement
		s.tx.statements = prepareTx(s.schema, s.sql, named)
	})
	return s.tx.statements
}

// connect takes a connection from the pool.
func (t *transaction) connect(ctx context.Context) error {
	conn, err := t.store.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	t.pooled = conn
	level := t.isolation
	if k := t.use(conn.Conn()); level == "" {
		level, err = k.defaultIsolation(ctx, conn.Conn())
	}
	if err != nil {
		t.disconnect()
		return err
	}
	t.rowFirst = level != readCommitted && level != "read uncommitted" || t.store.plain // CockroachDB has no such locks
	return nil
}

func (t *transaction) disconnect() {
	t.pooled.Release()
	t.pooled, t.wire.conn = nil, nil
}

// use makes the transaction work on a connection.
func (t *transaction) use(conn *pgx.Conn) *known {
	k := knownOf(conn)
	t.wire.conn, t.wire.known = conn, k
	return k
}
