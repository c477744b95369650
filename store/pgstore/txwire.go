package pgstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/pgcommit"
)

// wire sends several statements in one round trip of a connection. It speaks
// the protocol itself, which costs a fraction of what pgx's batches cost, for
// statements of which everything is known beforehand.
//
// Statements are queued, then run. Only what failed before run leaves the
// connection as it was.
type wire struct {
	conn  *pgx.Conn
	known *known
	into  answers

	queued []*statement
	few    [8]*statement // the first memory of queued
	bind   pgproto3.Bind
	params [13][]byte
}

// answers takes what comes back, statement by statement. values are the
// connection's memory: they are gone after the call.
type answers interface {
	described(s *statement, fields []pgproto3.FieldDescription)
	row(s *statement, values [][]byte)
	done(s *statement, tag []byte)
}

// failure is an error of a round trip. at is the statement that failed, or nil
// when it is not known how far the server came.
type failure struct {
	at  *statement
	err error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// unsure reports whether the transaction may have been committed although the round
// trip that was to commit it failed with err. commit is its last statement; with nil, any
// may be.
func unsure(err error, commit *statement) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && (f.at == nil || (commit == nil || f.at == commit) && dialect.CommitUnknown(f.err))
}

var errOpenRows = errors.New("the work has returned while it still reads rows (close them, or read them by pgx.CollectRows)")

// ready reports why nothing can be sent.
func (w *wire) ready(ctx context.Context) error {
	switch pg := w.conn.PgConn(); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case pg.IsClosed():
		return net.ErrClosed
	case pg.IsBusy():
		return errOpenRows
	}
	return nil
}

// formats says that all parameters, or all columns, are binary.
func formats() []int16 { return []int16{pgx.BinaryFormatCode} }

// queue adds a statement to the next round trip.
func (w *wire) queue(s *statement, params ...[]byte) {
	if s.name == "" || !w.known.parsed[s.name] {
		if s.name != "" { // it may be there after forget; closing what is not there succeeds
			w.conn.PgConn().Frontend().SendClose(&pgproto3.Close{ObjectType: 'S', Name: s.name})
		}
		w.conn.PgConn().Frontend().SendParse(&pgproto3.Parse{Name: s.name, Query: s.sql, ParameterOIDs: s.oids})
	}
	if w.bind.ResultFormatCodes == nil {
		w.bind.ParameterFormatCodes = formats()
		w.bind.ResultFormatCodes = w.bind.ParameterFormatCodes
	}
	w.bind.PreparedStatement, w.bind.Parameters = s.name, w.params[:copy(w.params[:], params)]
	w.queueBind(s, &w.bind)
}

// queueBind is queue for a prepared statement, with its parameters encoded.
func (w *wire) queueBind(s *statement, bind *pgproto3.Bind) {
	front := w.conn.PgConn().Frontend()
	front.SendBind(bind)
	if s.describe {
		front.SendDescribe(&pgproto3.Describe{ObjectType: 'P'})
	}
	front.SendExecute(&pgproto3.Execute{})
	if w.queued == nil {
		w.queued = w.few[:0]
	}
	w.queued = append(w.queued, s)
}

// roundTrip sends what was queued and reads the answers. The first error ends what
// follows; it is a *failure. The end of ctx breaks the connection, but never cancels
// what may be committing.
func (w *wire) roundTrip(ctx context.Context) error {
	pg := w.conn.PgConn()
	pg.Frontend().SendSync(&pgproto3.Sync{})
	commits := w.commits()
	if commits {
		defer pgcommit.Shield(w.conn.PgConn())()
	}
	guard := guardConn(ctx, pg.Conn())
	err := pg.Frontend().Flush()
	if err == nil {
		err = w.read(pg) //nolint:contextcheck // what runs here must not end with the context.
	} else {
		err = &failure{err: err}
	}
	w.queued = w.queued[:0]
	guard.end()
	if f, ok := errors.AsType[*failure](err); ok && f.at == nil {
		if commits {
			w.hangUp() //nolint:contextcheck // what runs here must not end with the context.
		} else {
			w.stop() //nolint:contextcheck // what runs here must not end with the context.
		}
		if ctx.Err() != nil {
			f.err = fmt.Errorf("%w: %w", context.Cause(ctx), f.err)
		}
	}
	return err
}

// commits reports whether the server may commit what is queued: at the end of a
// transaction, and of statements without one.
func (w *wire) commits() bool {
	open := w.conn.PgConn().TxStatus() != 'I'
	for _, s := range w.queued {
		if s.commits {
			return true
		}
		open = open || s.begins
	}
	return !open
}

// read takes the answers until the server is ready for more.
func (w *wire) read(pg *pgconn.PgConn) error {
	var failed *failure
	for i := 0; ; {
		msg, err := pg.ReceiveMessage(context.Background()) // the guard ends it
		if err != nil {
			return w.broken(i, failed, err)
		}
		switch msg := msg.(type) {
		case *pgproto3.ParseComplete:
			if s := w.queued[i]; s.name != "" {
				w.known.parsed[s.name] = true
			}
		case *pgproto3.RowDescription:
			w.into.described(w.queued[i], msg.Fields)
		case *pgproto3.DataRow:
			w.into.row(w.queued[i], msg.Values)
		case *pgproto3.CommandComplete:
			w.into.done(w.queued[i], msg.CommandTag)
			i++
		case *pgproto3.CopyInResponse:
			if err := refuseCopy(pg); err != nil {
				return w.broken(i, failed, err)
			}
		case *pgproto3.ErrorResponse:
			if failed == nil {
				failed = &failure{at: w.queued[min(i, len(w.queued)-1)], err: pgconn.ErrorResponseToPgError(msg)}
			}
		case *pgproto3.ReadyForQuery:
			if failed != nil {
				w.forget(failed)
				return failed
			}
			return nil
		}
	}
}

// refuseCopy makes a COPY FROM STDIN fail, which would wait for its data for
// ever. The server has passed over the end of the round trip meanwhile.
func refuseCopy(pg *pgconn.PgConn) error {
	front := pg.Frontend()
	front.Send(&pgproto3.CopyFail{Message: "a COPY takes its data from CopyFrom of the transaction"})
	front.SendSync(&pgproto3.Sync{})
	return front.Flush()
}

// broken describes a connection that ended at the i-th statement. What the
// server said before counts, and so does a server that says why it hangs up;
// it is not known whether the end of a transaction took place before that.
func (w *wire) broken(i int, failed *failure, err error) error {
	if failed != nil {
		return failed
	}
	f := &failure{err: err}
	if _, ok := errors.AsType[*pgconn.PgError](err); ok && i < len(w.queued)-1 {
		f.at = w.queued[i]
	}
	return f
}

// forget makes up for a connection that has lost its prepared statements.
func (w *wire) forget(f *failure) {
	if code(f.err) == codeNoStatement {
		clear(w.known.parsed)
	}
}

// hangUp gives the connection up. What the server still does for us goes on.
func (w *wire) hangUp() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = w.conn.PgConn().Close(ctx) // the connection is broken anyway
}

// stop is hangUp where nothing can be committing: it also asks the server to stop
// working for us.
func (w *wire) stop() {
	if pg := w.conn.PgConn(); !pg.IsClosed() { // otherwise the driver does the same
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = pg.CancelRequest(ctx) // at best
	}
	w.hangUp()
}

// connGuard lets a context's end interrupt what a connection reads and writes.
type connGuard struct {
	conn net.Conn
	stop func() bool

	mu   sync.Mutex // guards over
	over bool
}

func guardConn(ctx context.Context, conn net.Conn) *connGuard {
	if ctx.Done() == nil {
		return nil
	}
	g := &connGuard{conn: conn}
	g.stop = context.AfterFunc(ctx, g.interrupt)
	return g
}

func (g *connGuard) interrupt() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		_ = g.conn.SetDeadline(time.Unix(1, 0)) // fails on a closed connection, which needs none
	}
}

// end leaves the connection uninterrupted from here on.
func (g *connGuard) end() {
	if g == nil || g.stop() {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
	_ = g.conn.SetDeadline(time.Time{}) // see interrupt
}
