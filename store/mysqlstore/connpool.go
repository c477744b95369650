package mysqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"
)

// openPool opens the pool of the store's verbs.
func openPool(cfg *mysql.Config, opts *Options) (*sql.DB, error) {
	cfg, err := prepare(cfg, opts.Logger)
	if err != nil {
		return nil, err
	}
	inner, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("mysqlstore: the DSN cannot be used: %w", err)
	}
	return bounded(punctual{inner, cfg.Timeout}, opts), nil
}

// openTxPool opens the pool of transactions. Other people's statements run
// there, so it is set as the DSN says.
func openTxPool(cfg *mysql.Config, opts *Options) (*sql.DB, error) {
	cfg = cfg.Clone()
	if cfg.Params == nil {
		cfg.Params = map[string]string{}
	}
	cfg.Params["autocommit"] = "0"
	cfg.Params["completion_type"] = noChain
	cfg.MultiStatements = true
	cfg.RejectReadOnly = true // after a failover, look for the new primary
	cfg.Logger = driverLog{opts.Logger}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultDialTimeout
	}
	inner, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("mysqlstore: the DSN cannot be used: %w", err)
	}
	return bounded(connector{Connector: punctual{inner, cfg.Timeout}, config: cfg, apart: true}, opts), nil
}

// punctual bounds how long connecting takes. The driver's own bound ends when
// a peer accepts the connection, though it may not be a server of MySQL, or one
// that says nothing.
type punctual struct {
	driver.Connector

	timeout time.Duration
}

// Connect implements [driver.Connector].
func (c punctual) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, errSilent)
	defer cancel()
	conn, err := c.Connector.Connect(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		err = errSilent
	}
	return conn, err
}

var errSilent = errors.New("the server accepts the connection and says nothing (is it one of MySQL, and are host and port right?)")

// bounded opens no connection yet.
func bounded(c driver.Connector, opts *Options) *sql.DB {
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(opts.MaxConns)
	db.SetMaxIdleConns(opts.MaxConns)
	db.SetConnMaxIdleTime(maxIdleTime)
	return db
}

// prepareTx makes the statements of transactions, and finds out whose
// connections they run on.
func (s *Store) prepareTx(ctx context.Context, opts *Options) (err error) {
	if s.tx, err = s.txStatements(); err != nil || opts.ReadOnly {
		return err
	}
	s.slow = opts.slow
	s.ways.bounded = s.server.mariadb && !opts.deny.bounded
	if s.txDB != s.db {
		s.txOurs = true
		return nil
	}
	c, err := s.txDB.Conn(ctx)
	if err != nil {
		return translate("connect", err)
	}
	if err := c.Raw(func(driverConn any) error {
		_, s.txOurs = driverConn.(*conn)
		return nil
	}); err != nil {
		return translate("connect", err)
	}
	return c.Close()
}
