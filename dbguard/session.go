package dbguard

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/semel-dev/semel/dialect"
)

// Session runs statements of one database: on a pool, where each commits by
// itself, or in a transaction. A Session is as safe for concurrent use as what
// it was made of: pools are, transactions are not.
type Session interface {
	// Dialect says what the statements are written in.
	Dialect() dialect.Dialect
	// Exec runs a statement and says how many rows it affected.
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

// Statement is a statement with its arguments.
type Statement struct {
	Text string
	Args []any
}

// Pipeliner is a [Session] that sends several statements in one round trip.
type Pipeliner interface {
	Session
	// Pipeline runs the statements in their order, hands the rows of each to read,
	// and stops at the first error. On a pool they are one transaction; its commit
	// has succeeded only when Pipeline returns nil.
	Pipeline(ctx context.Context, statements []Statement, read func(nth int, rows Rows) error) error
}

// Autocommitter is a [Session] that knows whether every statement commits by
// itself. Where it does, a guard runs a statement again that lost against
// another; in a transaction, and where nothing is known, only the caller can.
type Autocommitter interface {
	Session
	Autocommits() bool
}

// Database is a pool that can begin transactions.
type Database interface {
	Session
	// InTx runs work in a transaction at READ COMMITTED, or in the one kind that
	// SQLite has, begun as BEGIN IMMEDIATE would. It commits when work returns
	// nil; otherwise, and when work panics, it rolls back. The error of work is
	// returned as it is. An error of the commit is one of [CommitError].
	InTx(ctx context.Context, work func(ctx context.Context, tx Session) error) error
}

// Handle is what [*sql.DB], [*sql.Conn] and [*sql.Tx] have in common.
type Handle interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// SQL makes a session of a pool, a connection or a transaction of database/sql.
func SQL(d dialect.Dialect, handle Handle) Session { return sqlSession{d, handle} }

// SQLDatabase makes a [Database] of a pool of database/sql. For SQLite, open it
// so that transactions begin immediately (modernc.org/sqlite: _txlock=immediate).
func SQLDatabase(d dialect.Dialect, db *sql.DB) Database {
	return sqlDatabase{sqlSession{d, db}, db}
}

type sqlSession struct {
	dialect dialect.Dialect
	handle  Handle
}

// Dialect implements [Session].
func (s sqlSession) Dialect() dialect.Dialect { return s.dialect }

// Autocommits implements [Autocommitter]. A connection may be in a transaction
// that was begun by a statement.
func (s sqlSession) Autocommits() bool {
	_, pool := s.handle.(*sql.DB)
	return pool
}

// Exec implements [Session].
func (s sqlSession) Exec(ctx context.Context, statement string, args ...any) (int64, error) {
	result, err := s.handle.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Query implements [Session].
func (s sqlSession) Query(ctx context.Context, statement string, args ...any) (Rows, error) {
	rows, err := s.handle.QueryContext(ctx, statement, args...) //nolint:rowserrcheck // the caller reads and closes them.
	if err != nil {
		return nil, err
	}
	return rows, nil
}

type sqlDatabase struct {
	sqlSession
	db *sql.DB
}

// InTx implements [Database].
func (s sqlDatabase) InTx(ctx context.Context, work func(ctx context.Context, tx Session) error) error {
	options := &sql.TxOptions{Isolation: sql.LevelReadCommitted}
	if s.dialect == dialect.SQLite {
		options = nil // its transactions are serializable, and its driver knows no other
	}
	tx, err := s.db.BeginTx(ctx, options)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing; otherwise the first error counts.
	if err := work(ctx, SQL(s.dialect, tx)); err != nil {
		return err
	}
	return CommitError(tx.Commit())
}
