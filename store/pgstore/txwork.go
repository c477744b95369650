package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var (
	_ pgx.Tx = (*work)(nil)
	_ pgx.Tx = (*savepoint)(nil)
)

var errCommitByWork = errors.New("pgstore: the transaction commits with the outcome when the work returns (return instead of calling Commit)")

// work is a transaction as the work gets it.
type work struct {
	tx         *transaction
	savepoints int
	undone     bool // the work called Rollback
}

// conn is the connection while the transaction is open.
func (w *work) conn() (*pgx.Conn, error) {
	if w.undone || w.tx.state != txClaimed || w.tx.wire.conn == nil {
		return nil, pgx.ErrTxClosed
	}
	return w.tx.wire.conn, nil
}

// Begin sets a savepoint.
func (w *work) Begin(ctx context.Context) (pgx.Tx, error) {
	conn, err := w.conn()
	if err != nil {
		return nil, err
	}
	w.savepoints++
	name := "semel_work_" + strconv.Itoa(w.savepoints)
	if _, err := conn.Exec(ctx, "SAVEPOINT "+name); err != nil {
		return nil, err
	}
	return &savepoint{work: w, name: name}, nil
}

// Commit is refused.
func (*work) Commit(context.Context) error { return errCommitByWork }

// Rollback keeps everything of the work from being committed. The transaction
// is rolled back when the work returns.
func (w *work) Rollback(context.Context) error {
	if _, err := w.conn(); err != nil {
		return err
	}
	w.undone = true
	return nil
}

// Exec implements [pgx.Tx].
func (w *work) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	conn, err := w.conn()
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	return conn.Exec(ctx, sql, args...)
}

// Query implements [pgx.Tx].
func (w *work) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	conn, err := w.conn()
	if err != nil {
		return failedRows(err), err
	}
	return conn.Query(ctx, sql, args...)
}

// QueryRow implements [pgx.Tx].
func (w *work) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	conn, err := w.conn()
	if err != nil {
		return failedRow{err}
	}
	return conn.QueryRow(ctx, sql, args...)
}

// SendBatch implements [pgx.Tx].
func (w *work) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	conn, err := w.conn()
	if err != nil {
		return pgx.FailedBatchResults(b, err)
	}
	return w.within(conn).SendBatch(ctx, b) //nolint:contextcheck // what runs here must not end with the context.
}

// CopyFrom implements [pgx.Tx].
func (w *work) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	conn, err := w.conn()
	if err != nil {
		return 0, err
	}
	return conn.CopyFrom(ctx, table, columns, rows)
}

// Prepare implements [pgx.Tx].
func (w *work) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	conn, err := w.conn()
	if err != nil {
		return nil, err
	}
	return conn.Prepare(ctx, name, sql)
}

// LargeObjects implements [pgx.Tx].
func (w *work) LargeObjects() pgx.LargeObjects {
	conn, err := w.conn()
	if err != nil {
		// A closed transaction of pgx; it says so itself.
		var b pgx.Batch
		b.BeginTx(pgx.TxOptions{})
		return pgx.FailedBatchResults(&b, err).Tx().LargeObjects()
	}
	return w.within(conn).LargeObjects()
}

// Conn implements [pgx.Tx].
func (w *work) Conn() *pgx.Conn { return w.tx.wire.conn }

// within is pgx's own view of the transaction that is open on the connection:
// that of a batch that has begun it, less the statement that did.
func (*work) within(conn *pgx.Conn) pgx.Tx {
	var b pgx.Batch
	b.BeginTx(pgx.TxOptions{})
	b.QueuedQueries = nil
	return conn.SendBatch(context.Background(), &b).Tx() // sends nothing
}

// savepoint is a part of the work that can be undone.
type savepoint struct {
	*work

	name   string
	closed bool
}

// Commit releases the savepoint.
func (p *savepoint) Commit(ctx context.Context) error { return p.end(ctx, "RELEASE SAVEPOINT ") }

// Rollback goes back to the savepoint.
func (p *savepoint) Rollback(ctx context.Context) error { return p.end(ctx, "ROLLBACK TO SAVEPOINT ") }

func (p *savepoint) end(ctx context.Context, act string) error {
	if p.closed {
		return pgx.ErrTxClosed
	}
	p.closed = true
	_, err := p.Exec(ctx, act+p.name)
	return err
}

// failedRows and failedRow report an error that came before the query.
func failedRows(err error) pgx.Rows { return &memRows{err: err} }

type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return fmt.Errorf("query: %w", r.err) }
