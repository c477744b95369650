package dbguard

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/pgcommit"
)

// Dialect is the kind of database that statements are written for.
type Dialect uint8

// The dialects. MySQL includes MariaDB.
const (
	PostgreSQL = Dialect(dialect.PostgreSQL)
	MySQL      = Dialect(dialect.MySQL)
	SQLite     = Dialect(dialect.SQLite)
)

// String is postgresql, mysql or sqlite.
func (d Dialect) String() string { return dialect.Dialect(d).String() }

// Session runs statements of one database: on a pool, where each commits on its
// own, or in a transaction. A Session is as safe for concurrent use as the handle
// it wraps: pools are, transactions are not.
//
// A session may implement three more methods, which guards look for:
//
//	// Autocommits reports whether every statement commits on its own. Then a guard
//	// repeats a statement that lost against another transaction; in a transaction,
//	// and without this method, only the caller can.
//	Autocommits() bool
//
//	// Pipeline runs statements in order in one round trip, passes the rows of each
//	// to read, and stops at the first error. On a pool they are one transaction,
//	// committed only when Pipeline returns nil.
//	Pipeline(ctx context.Context, texts []string, args [][]any, read func(nth int, rows Rows) error) error
//
//	// Learned keeps what guards read of the catalogue, for the transactions of one
//	// pool. Without this method they read it in each transaction.
//	Learned() *sync.Map
type Session interface {
	// Dialect returns the dialect of the statements.
	Dialect() Dialect
	// Exec runs a statement and returns how many rows it affected.
	Exec(ctx context.Context, statement string, args ...any) (affected int64, err error)
	// Query runs a statement that returns rows. The caller closes them.
	Query(ctx context.Context, statement string, args ...any) (Rows, error)
}

// Rows are the rows of a query, as [sql.Rows] has them.
type Rows interface {
	Columns() ([]string, error)
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close() error
}

// query is a statement with its arguments.
type query struct {
	text string
	args []any
}

// pipeliner is a session that sends several statements in one round trip.
type pipeliner interface {
	Pipeline(ctx context.Context, texts []string, args [][]any, read func(nth int, rows Rows) error) error
}

// autocommitter is a session that knows whether every statement commits on its own.
type autocommitter interface{ Autocommits() bool }

// Database is a pool that can begin transactions.
type Database interface {
	Session
	// InTx runs work in a transaction at READ COMMITTED, or in the one kind that
	// SQLite has, begun as BEGIN IMMEDIATE would. It commits when work returns
	// nil; otherwise, and when work panics, it rolls back. The error of work is
	// returned as it is. An error of the commit is one of [CommitError].
	InTx(ctx context.Context, work func(ctx context.Context, tx Session) error) error
}

// handle has the methods that [*sql.DB], [*sql.Conn] and [*sql.Tx] share.
type handle interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// SQL makes a session of a pool, a connection or a transaction of database/sql.
func SQL(d Dialect, h handle) Session { return sqlSession{d, h, new(sync.Map)} }

// SQLDatabase makes a [Database] of a pool of database/sql. For SQLite, open it
// so that transactions begin immediately (modernc.org/sqlite: _txlock=immediate).
func SQLDatabase(d Dialect, db *sql.DB) Database {
	return sqlDatabase{sqlSession{d, db, new(sync.Map)}, db}
}

type sqlSession struct {
	dialect Dialect
	handle  handle
	learned *sync.Map
}

// Dialect implements [Session].
func (s sqlSession) Dialect() Dialect { return s.dialect }

// Autocommits implements the method of [Session]. A connection may be in a transaction
// that was begun by a statement.
func (s sqlSession) Autocommits() bool {
	_, pool := s.handle.(*sql.DB)
	return pool
}

// Learned implements the method of [Session].
func (s sqlSession) Learned() *sync.Map { return s.learned }

// hold returns where a statement runs, until release is called. What PostgreSQL commits as the
// statement ends is not cancelled.
func (s sqlSession) hold(ctx context.Context) (h handle, release func(), err error) {
	db, pool := s.handle.(*sql.DB)
	if !pool || s.dialect != PostgreSQL {
		return s.handle, func() {}, nil
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	unshield := pgcommit.ShieldSQL(conn)
	return conn, func() {
		unshield()
		_ = conn.Close() // it only gives it back
	}, nil
}

// Exec implements [Session].
func (s sqlSession) Exec(ctx context.Context, statement string, args ...any) (int64, error) {
	h, release, err := s.hold(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	result, err := h.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Query implements [Session].
func (s sqlSession) Query(ctx context.Context, statement string, args ...any) (Rows, error) {
	h, release, err := s.hold(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := h.QueryContext(ctx, statement, args...) //nolint:rowserrcheck // the caller reads and closes them.
	if err != nil {
		release()
		return nil, err
	}
	return sqlRows{rows, sync.OnceFunc(release)}, nil
}

// sqlRows give the connection back when they are closed.
type sqlRows struct {
	*sql.Rows
	release func()
}

// Close implements [Rows].
func (r sqlRows) Close() error {
	defer r.release()
	return r.Rows.Close()
}

type sqlDatabase struct {
	sqlSession
	db *sql.DB
}

// InTx implements [Database].
func (s sqlDatabase) InTx(ctx context.Context, work func(ctx context.Context, tx Session) error) error {
	options := &sql.TxOptions{Isolation: sql.LevelReadCommitted}
	if s.dialect == SQLite {
		options = nil // its transactions are serializable, and its driver knows no other
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx)) // that of the transaction
	detach := context.AfterFunc(ctx, end)
	tx, err := conn.BeginTx(life, options)
	committing := false
	defer func() {
		if committing {
			return
		}
		if tx != nil {
			_ = tx.Rollback() // the first error counts
		}
		end()
		_ = conn.Close() // it only gives it back
	}()
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := work(ctx, sqlSession{s.dialect, tx, s.learned}); err != nil {
		return err
	}
	if !detach() {
		return fmt.Errorf("commit: %w", context.Cause(ctx))
	}
	committing = true
	return CommitError(pgcommit.Commit(ctx, conn, tx, end))
}
