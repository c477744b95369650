package mysqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

// resetTimeout bounds what makes a connection ready for its next user.
const resetTimeout = 5 * time.Second

// NewConnector returns a connector for a pool of one's own, whose transactions
// are those of [Store.Transactor] and of [Do] with two round trips less, and
// safer ones:
//
//	connector, err := mysqlstore.NewConnector(cfg) // in place of mysql.NewConnector
//	db := sql.OpenDB(connector)
//	store, err := mysqlstore.New(ctx, db, nil)
//
// The pool is one of the driver in everything else, and cfg is left as it is.
// The claim travels with the beginning of the transaction, and the outcome with
// its commit, as several statements in one text. A text of any other caller is one
// statement, as on any connection: one with a semicolon inside is shown to the
// server first, which refuses it if it is more than one.
func NewConnector(cfg *mysql.Config) (driver.Connector, error) {
	cfg = cfg.Clone()
	cfg.MultiStatements = true
	inner, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("mysqlstore: the configuration cannot be used: %w", err)
	}
	return connector{Connector: inner, config: cfg}, nil
}

type connector struct {
	driver.Connector

	config *mysql.Config
	// apart says that the pool serves nothing but transactions of this package,
	// on connections whose autocommit is off.
	apart bool
}

// Connect implements [driver.Connector].
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	full, ok := opened.(driverConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("mysqlstore: connections of type %T are not those of the driver it was made for", opened), opened.Close())
	}
	const on, off = "SET autocommit = 1", "SET autocommit = 0"
	if c.apart {
		return &conn{driverConn: full, config: c.config, idle: off}, nil
	}
	return &conn{driverConn: full, config: c.config, before: off, after: on, idle: on}, nil
}

// driverConn lists what the driver's connections can do.
type driverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

// conn is a connection that tells the package's own statements from others.
//
// While a transaction of this package is open, autocommit is off. So when the
// server rolls the transaction back under the work (a deadlock), or the work
// itself ends it by SQL, what follows is a transaction too, which is never
// committed: the savepoint that the commit asks for is gone.
type conn struct {
	driverConn

	config *mysql.Config

	// before and after a transaction, autocommit is switched; both are empty
	// where it stays off. idle holds its value for the next user.
	before, after, idle string

	broken  bool       // it cannot be used again
	facts   *connFacts // once asked for
	closing atomic.Pointer[roundTrip]
}

// roundTrip is one or more statements of this package that travel together. Where
// they are run, a round trip is found in the context. The texts hold numbers and
// hexadecimal bytes only, so they mean the same in every mode and charset.
type roundTrip struct {
	statements []string
	ctx        context.Context //nolint:containedctx // a commit of database/sql has none.

	conn      *conn     // where it ran; nil on connections that are not of this package
	sent      time.Time // when it was sent there
	rows, ids []int64
}

type roundTripKey struct{}

func (st *roundTrip) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, roundTripKey{}, st)
}

func roundTripOf(ctx context.Context) *roundTrip {
	st, _ := ctx.Value(roundTripKey{}).(*roundTrip)
	return st
}

// runTrip sends a round trip, with what goes before and after it.
func (c *conn) runTrip(ctx context.Context, st *roundTrip, before []string, after string) (driver.Result, error) {
	st.sent = time.Now()
	res, err := c.driverConn.ExecContext(ctx, oneText(slices.Concat(before, st.statements, []string{after})...), nil)
	if err != nil {
		return nil, err
	}
	all, ok := res.(mysql.Result)
	if !ok {
		return nil, fmt.Errorf("mysqlstore: the driver answered with a %T", res)
	}
	st.conn = c
	rows, ids := all.AllRowsAffected(), all.AllLastInsertIds()
	first := min(present(before...), len(rows))
	st.rows, st.ids = rows[first:], ids[first:]
	return res, nil
}

// BeginTx implements [driver.ConnBeginTx]. With a round trip, the transaction is one
// of this package, and begins with it.
func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	st := roundTripOf(ctx)
	if st == nil {
		return c.driverConn.BeginTx(ctx, o)
	}
	level, err := isolation(sql.IsolationLevel(o.Isolation))
	if err != nil {
		return nil, err
	}
	c.closing.Store(nil)
	if _, err := c.runTrip(ctx, st, []string{level, c.before}, ""); err != nil {
		c.reset(ctx)
		return nil, err
	}
	return connTx{c}, nil
}

func isolation(level sql.IsolationLevel) (string, error) {
	switch level {
	case sql.LevelDefault:
		return "", nil
	case sql.LevelReadUncommitted, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable:
		return "SET TRANSACTION ISOLATION LEVEL " + strings.ToUpper(level.String()), nil
	case sql.LevelWriteCommitted, sql.LevelSnapshot, sql.LevelLinearizable:
	}
	return "", fmt.Errorf("mysqlstore: the server has no isolation level %v", level)
}

// oneText joins statements, leaving out empty ones.
func oneText(statements ...string) string {
	var b strings.Builder
	for _, statement := range statements {
		if statement == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(';')
		}
		b.WriteString(statement)
	}
	return b.String()
}

// present counts the statements that are not empty.
func present(statements ...string) (n int) {
	for _, statement := range statements {
		if statement != "" {
			n++
		}
	}
	return n
}

// reset rolls back whatever is open. A connection in doubt is
// not used again, so the server rolls back when it is closed.
func (c *conn) reset(ctx context.Context) {
	if !c.driverConn.IsValid() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resetTimeout)
	defer cancel()
	if _, err := c.driverConn.ExecContext(ctx, oneText("ROLLBACK", c.idle), nil); err != nil {
		c.broken = true
	}
}

// IsValid implements [driver.Validator].
func (c *conn) IsValid() bool { return !c.broken && c.driverConn.IsValid() }

// connTx is a transaction of this package.
type connTx struct{ conn *conn }

// errWorkCommits is returned to work that calls Commit itself.
var errWorkCommits = errors.New("mysqlstore: the work must not commit: that happens together with its outcome, when it has returned (the transaction was rolled back)")

// Commit implements [driver.Tx]: it sends the step that was left for it.
func (t connTx) Commit() error {
	st := t.conn.closing.Swap(nil)
	if st == nil {
		t.conn.reset(context.Background())
		return errWorkCommits
	}
	_, err := t.conn.runTrip(st.ctx, st, nil, t.conn.after)
	if err != nil {
		t.conn.reset(st.ctx)
	}
	return err
}

// Rollback implements [driver.Tx].
func (t connTx) Rollback() error {
	t.conn.reset(context.Background())
	return nil // a connection that breaks here is rolled back by the server
}

// ExecContext implements [driver.ExecerContext].
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if st := roundTripOf(ctx); st != nil {
		return c.runTrip(ctx, st, nil, "")
	}
	query, err := c.single(ctx, query)
	if err != nil {
		return nil, err
	}
	return c.driverConn.ExecContext(ctx, query, args)
}

// QueryContext implements [driver.QueryerContext].
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	query, err := c.single(ctx, query)
	if err != nil {
		return nil, err
	}
	return c.driverConn.QueryContext(ctx, query, args)
}

// bare is a text without a semicolon at its end.
func bare(text string) string { return strings.TrimRight(text, "; \t\r\n") }

// single returns a text of another caller's if it is one statement. Without a
// semicolon it is: in no charset that a client can have is that byte a part of
// another character. Otherwise the server is asked, which prepares only one.
func (c *conn) single(ctx context.Context, query string) (string, error) {
	if text := bare(query); strings.IndexByte(text, ';') < 0 {
		return text, nil
	}
	stmt, err := c.PrepareContext(ctx, query)
	if err != nil {
		return "", err
	}
	return query, stmt.Close()
}
