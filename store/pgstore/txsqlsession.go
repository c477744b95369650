package pgstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/semel-dev/semel/internal/pgcommit"
)

// Execer is a transaction as every library shows it in some way: *sql.Tx
// itself, sqlx, ent, GORM's ConnPool, and what sqlc calls DBTX. It runs SQL
// unchanged; of bun's, take the *sql.Tx that is inside.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// ownSession is a transaction of our own.
type ownSession struct {
	*sql.Tx

	store  *Store
	conn   *sql.Conn
	level  sql.IsolationLevel
	cancel context.CancelFunc
	bind   func(*sql.Tx) // receives the transaction
}

// begin detaches the transaction from the end of ctx, which would roll it back
// at any moment.
func (s *ownSession) begin(ctx context.Context) error {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	tx, err := s.conn.BeginTx(life, &sql.TxOptions{Isolation: s.level})
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		cancel()
		return err
	}
	s.Tx, s.cancel = tx, cancel
	s.bind(tx)
	return nil
}

// commit goes on when ctx ends: no commit is cancelled.
func (s *ownSession) commit(ctx context.Context) error {
	tx, conn, cancel := s.Tx, s.conn, s.cancel
	s.Tx, s.conn = nil, nil // there is nothing to undo from here on
	s.store.background.Add(1)
	return pgcommit.Commit(ctx, conn, tx, func() {
		cancel()
		s.store.background.Done()
	})
}

func (s *ownSession) undo() {
	if s.Tx == nil {
		return
	}
	_ = s.Rollback() // or it has ended before
	s.cancel()
	s.Tx = nil
}

func (s *ownSession) end() {
	if s.conn != nil { // otherwise commit does
		_ = s.conn.Close() // gives it back to the pool
	}
}

// savepointSession is a savepoint in a transaction of the caller's.
type savepointSession struct {
	Execer

	name string
	set  bool
}

const codeNoTransaction = "25P01"

func (s *savepointSession) begin(ctx context.Context) error {
	_, err := s.ExecContext(ctx, "SAVEPOINT "+s.name)
	switch {
	case state(err) == codeNoTransaction, errors.Is(err, sql.ErrTxDone):
		return fmt.Errorf("%w: %w", errNotOpen, err)
	case err != nil:
		return err
	}
	s.set = true
	return nil
}

func (s *savepointSession) commit(ctx context.Context) error {
	_, err := s.ExecContext(ctx, "RELEASE SAVEPOINT "+s.name)
	s.set = s.set && err != nil
	return err
}

// undo goes back to the savepoint. Where that fails, for instance because the
// work left rows open, all of the transaction goes, lest the caller commit
// what has no record.
func (s *savepointSession) undo() {
	if !s.set {
		return
	}
	s.set = false
	ctx, cancel := context.WithTimeout(context.Background(), undoTime)
	defer cancel()
	_, err := s.ExecContext(ctx, "ROLLBACK TO SAVEPOINT "+s.name)
	if err == nil {
		_, err = s.ExecContext(ctx, "RELEASE SAVEPOINT "+s.name)
	}
	if tx, ok := s.Execer.(interface{ Rollback() error }); ok && err != nil {
		_ = tx.Rollback() // or it has ended before
	}
}

func (*savepointSession) end() {}
