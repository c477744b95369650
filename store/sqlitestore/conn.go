package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
)

// conn is one connection to the file. It speaks to the driver without
// database/sql, whose pool, locks and goroutine per context cost about as much
// as a claim. It belongs to one goroutine at a time.
type conn struct {
	raw   rawConn
	stmts []*stmt
}

type rawConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
}

type rawStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// openConn opens the file, which must exist. The path is taken literally:
// whatever it holds, none of it is read as a parameter.
func openConn(path string, busy time.Duration, readOnly bool) (*conn, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	mode := "rw"
	if readOnly {
		mode = "ro"
	}
	slashed := filepath.ToSlash(full)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // C:/… on Windows
	}
	uri := url.URL{Scheme: "file", Path: slashed}
	name := fmt.Sprintf("%s?mode=%s&_error_rc=1&_dqs=0&_busy_timeout=%d", uri.String(), mode, busy.Milliseconds())
	opened, err := new(sqlite.Driver).Open(name)
	if err != nil {
		return nil, err
	}
	raw, ok := opened.(rawConn)
	if !ok {
		_ = opened.Close() // of no use
		return nil, errors.New("the SQLite driver lacks the context methods")
	}
	return &conn{raw: raw}, nil
}

// exec runs SQL that is not worth preparing: one statement or several.
func (c *conn) exec(ctx context.Context, query string) error {
	_, err := c.raw.ExecContext(ctx, query, nil)
	return err
}

// value returns the first column of the first row, nil where there is no row.
func (c *conn) value(ctx context.Context, query string) (v driver.Value, err error) {
	err = c.query(ctx, query, func(row []driver.Value) error {
		v = row[0]
		return nil
	})
	return v, err
}

// query gives the first row to found, if there is one.
func (c *conn) query(ctx context.Context, query string, found func(row []driver.Value) error) error {
	rows, err := c.raw.QueryContext(ctx, query, nil)
	if err != nil {
		return err
	}
	row := make([]driver.Value, len(rows.Columns()))
	err = rows.Next(row)
	if err == nil {
		err = found(row)
	} else if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, rows.Close())
}

// number is value for an integer.
func (c *conn) number(ctx context.Context, query string) (int64, error) {
	v, err := c.value(ctx, query)
	if err != nil {
		return 0, err
	}
	n, ok := v.(int64)
	if !ok {
		return 0, fmt.Errorf("%s: got %v, want a number", query, v)
	}
	return n, nil
}

// prepare compiles one statement. What follows the statement's end would make
// the driver compile it anew at every call, so nothing may.
func (c *conn) prepare(ctx context.Context, query string) (*stmt, error) {
	prepared, err := c.raw.PrepareContext(ctx, strings.TrimSpace(query))
	if err != nil {
		return nil, err
	}
	raw, ok := prepared.(rawStmt)
	if !ok {
		_ = prepared.Close() // of no use
		return nil, errors.New("the SQLite driver lacks the context methods")
	}
	s := &stmt{raw: raw}
	c.stmts = append(c.stmts, s)
	return s, nil
}

// close ends the statements too: with one left, SQLite would keep the file
// and its locks.
func (c *conn) close() error {
	errs := make([]error, 0, len(c.stmts)+1)
	for _, s := range c.stmts {
		errs = append(errs, s.raw.Close())
	}
	c.stmts = nil
	return errors.Join(append(errs, c.raw.Close())...)
}

// stmt is a prepared statement with the memory for its arguments and its row.
type stmt struct {
	raw  rawStmt
	args []driver.NamedValue
	row  []driver.Value
}

// exec runs the statement and returns what the driver says of it.
func (s *stmt) exec(ctx context.Context, args ...driver.Value) (driver.Result, error) {
	return s.raw.ExecContext(ctx, s.bind(args))
}

// changes runs the statement and returns how many rows it changed.
func (s *stmt) changes(ctx context.Context, args ...driver.Value) (int64, error) {
	res, err := s.exec(ctx, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// each calls found for every row. The row's memory is used again for the next
// one; blobs and strings in it are the caller's.
func (s *stmt) each(ctx context.Context, found func(row []driver.Value) error, args ...driver.Value) (err error) {
	rows, err := s.raw.QueryContext(ctx, s.bind(args))
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := rows.Close(); err == nil {
			err = closeErr
		}
	}()
	if s.row == nil {
		s.row = make([]driver.Value, len(rows.Columns()))
	}
	for {
		switch err := rows.Next(s.row); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := found(s.row); err != nil {
			return err
		}
	}
}

func (s *stmt) bind(args []driver.Value) []driver.NamedValue {
	s.args = s.args[:0]
	for i, v := range args {
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return s.args
}
