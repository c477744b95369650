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

	"github.com/semel-dev/semel/store/sqlitestore/internal/table"
)

// conn is one connection to the file. It speaks to the driver without
// database/sql, whose pool, locks and goroutine per context cost about as much
// as a claim. It belongs to one goroutine at a time.
type conn struct {
	raw   rawConn
	texts *[table.Statements]string
	own   [table.Statements]*stmt // the engine's, prepared when they are first used
	stmts []*stmt                 // all of them
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

// names are the tables of a file that holds nothing but records.
var names = table.Names{Package: "sqlitestore", Record: "records", Meta: "meta"} //nolint:gochecknoglobals // it is never changed.

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
	texts, err := names.Texts()
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return &conn{raw: raw, texts: &texts}, nil
}

// Exec implements [table.Session].
func (c *conn) Exec(ctx context.Context, q table.Statement, args ...any) (driver.Result, error) {
	s, err := c.statement(ctx, q)
	if err != nil {
		return nil, err
	}
	return s.exec(ctx, args...)
}

// Each implements [table.Session].
func (c *conn) Each(ctx context.Context, q table.Statement, found func(table.Row) error, args ...any) error {
	s, err := c.statement(ctx, q)
	if err != nil {
		return err
	}
	return s.each(ctx, found, args...)
}

func (c *conn) statement(ctx context.Context, q table.Statement) (s *stmt, err error) {
	if c.own[q] == nil {
		c.own[q], err = c.prepare(ctx, c.texts[q])
	}
	return c.own[q], err
}

// exec runs SQL that is not worth preparing: one statement or several.
func (c *conn) exec(ctx context.Context, query string) error {
	_, err := c.raw.ExecContext(ctx, query, nil)
	return err
}

// value returns the first column of the first row, nil without a row.
func (c *conn) value(ctx context.Context, query string) (v driver.Value, err error) {
	err = c.query(ctx, query, func(row []driver.Value) error {
		v = row[0]
		return nil
	})
	return v, err
}

// query passes the first row to found, if there is one.
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

// prepare compiles one statement. Text after the statement's end would make
// the driver compile it anew at every call, so there must be none.
func (c *conn) prepare(ctx context.Context, query string) (*stmt, error) {
	prepared, err := c.raw.PrepareContext(ctx, query)
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

func (s *stmt) exec(ctx context.Context, args ...any) (driver.Result, error) {
	return s.raw.ExecContext(ctx, s.bind(args))
}

// each calls found for every row.
func (s *stmt) each(ctx context.Context, found func(table.Row) error, args ...any) (err error) {
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
		if err := found(s); err != nil {
			return err
		}
	}
}

func (s *stmt) bind(args []any) []driver.NamedValue {
	s.args = s.args[:0]
	for i, v := range args {
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return s.args
}

// Scan implements [table.Row]: it copies the present row's columns.
func (s *stmt) Scan(to ...any) error { return scan(s.row, to...) }

// scan copies the columns of a row to where they belong.
func scan(row []driver.Value, to ...any) error {
	if len(row) < len(to) {
		return fmt.Errorf("got %d columns, want %d", len(row), len(to))
	}
	for i, dest := range to {
		ok := false
		switch dest := dest.(type) {
		case *int64:
			*dest, ok = row[i].(int64)
		case *string:
			*dest, ok = row[i].(string)
		case *[]byte:
			*dest, ok = row[i].([]byte)
			ok = ok || row[i] == nil
		}
		if !ok {
			return fmt.Errorf("column %d is a %T", i, row[i])
		}
	}
	return nil
}
