// Package pgxguard runs the guards of package dbguard on pgx: on pools and
// connections, and in its transactions.
package pgxguard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/internal/pgcommit"
	"github.com/semel-dev/semel/internal/texts"
)

// Handle has the methods that pgxpool.Pool, [*pgx.Conn] and [pgx.Tx] share.
type Handle interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// beginner is a [Handle] that begins transactions, such as a pgxpool.Pool.
type beginner interface {
	Handle
	BeginTx(ctx context.Context, options pgx.TxOptions) (pgx.Tx, error)
}

// Session makes a session of a pool, a connection or a transaction.
func Session(handle Handle) dbguard.Session { return session{handle, new(sync.Map)} }

// Database makes a database of a pool.
func Database(pool beginner) dbguard.Database { return database{session{pool, new(sync.Map)}, pool} }

type session struct {
	handle  Handle
	learned *sync.Map
}

// Dialect implements [dbguard.Session].
func (s session) Dialect() dbguard.Dialect { return dbguard.PostgreSQL }

// Autocommits implements the method that [dbguard.Session] describes. A connection knows whether it is
// in a transaction.
func (s session) Autocommits() bool {
	switch handle := s.handle.(type) {
	case pgx.Tx:
		return false
	case *pgx.Conn:
		return isIdle(handle)
	case interface{ Conn() *pgx.Conn }: // *pgxpool.Conn
		return isIdle(handle.Conn())
	}
	_, pool := s.handle.(beginner)
	return pool
}

// Learned implements the method that [dbguard.Session] describes.
func (s session) Learned() *sync.Map { return s.learned }

func isIdle(conn *pgx.Conn) bool {
	const idle = 'I'
	return conn.PgConn().TxStatus() == idle
}

// Pipeline implements the method that [dbguard.Session] describes.
func (s session) Pipeline(ctx context.Context, texts []string, args [][]any, read func(nth int, rows dbguard.Rows) error) error {
	h, release, err := s.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	batch := &pgx.Batch{}
	for i, text := range texts {
		batch.Queue(text, args[i]...)
	}
	results := h.SendBatch(ctx, batch)
	for i := range texts {
		if err := readResult(results, i, read); err != nil {
			_ = results.Close() // it says the same
			return err
		}
	}
	return results.Close()
}

func readResult(results pgx.BatchResults, nth int, read func(nth int, rows dbguard.Rows) error) error {
	found, err := results.Query()
	if err != nil {
		return err
	}
	defer found.Close()
	if err := read(nth, rows{found, func() {}}); err != nil {
		return err
	}
	found.Close()
	return found.Err()
}

// hold returns where a statement runs, until release is called. What the server commits as the
// statement ends is not cancelled.
func (s session) hold(ctx context.Context) (h Handle, release func(), err error) {
	switch handle := s.handle.(type) {
	case *pgxpool.Pool:
		conn, err := handle.Acquire(ctx)
		if err != nil {
			return nil, nil, err
		}
		unshield := pgcommit.Shield(conn.Conn().PgConn())
		return conn, func() {
			unshield()
			conn.Release()
		}, nil
	case *pgx.Conn:
		if isIdle(handle) {
			return handle, pgcommit.Shield(handle.PgConn()), nil
		}
	case *pgxpool.Conn:
		if isIdle(handle.Conn()) {
			return handle, pgcommit.Shield(handle.Conn().PgConn()), nil
		}
	}
	return s.handle, func() {}, nil
}

// Exec implements [dbguard.Session].
func (s session) Exec(ctx context.Context, statement string, args ...any) (int64, error) {
	h, release, err := s.hold(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	tag, err := h.Exec(ctx, statement, args...)
	return tag.RowsAffected(), err
}

// Query implements [dbguard.Session].
func (s session) Query(ctx context.Context, statement string, args ...any) (dbguard.Rows, error) {
	h, release, err := s.hold(ctx)
	if err != nil {
		return nil, err
	}
	found, err := h.Query(ctx, statement, args...)
	if err != nil {
		release()
		return nil, err
	}
	return rows{found, sync.OnceFunc(release)}, nil
}

// rows are pgx's, with the methods of database/sql.
type rows struct {
	pgx.Rows
	release func()
}

// Columns implements [dbguard.Rows].
func (r rows) Columns() ([]string, error) {
	return texts.Of(r.FieldDescriptions(), func(f pgconn.FieldDescription) string { return f.Name }), r.Err()
}

// Close implements [dbguard.Rows].
func (r rows) Close() error {
	r.Rows.Close()
	r.release()
	return r.Err()
}

type database struct {
	session
	pool beginner
}

// rollbackTimeout bounds a rollback, after which pgx ends the connection.
const rollbackTimeout = 5 * time.Second

// rollback ends the transaction also when the caller has gone. After a commit it
// does nothing; otherwise the first error counts.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_ = tx.Rollback(ctx)
}

// InTx implements [dbguard.Database].
func (d database) InTx(ctx context.Context, work func(ctx context.Context, tx dbguard.Session) error) error {
	begin := d.pool
	if pool, ok := d.pool.(*pgxpool.Pool); ok {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		defer conn.Release() // not by the commit: its shield ends first
		begin = conn
	}
	tx, err := begin.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer rollback(ctx, tx)
	if err := work(ctx, session{tx, d.learned}); err != nil {
		return err
	}
	if conn := tx.Conn(); conn != nil { // a mock may have none
		defer pgcommit.Shield(conn.PgConn())()
	}
	err = tx.Commit(ctx)
	if errors.Is(err, pgx.ErrTxCommitRollback) { // pgconn.SafeToRetry is true also where the reply was lost
		return fmt.Errorf("commit: %w", err)
	}
	return dbguard.CommitError(err)
}
