package rerun

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"

	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/internal/dialect"
)

const (
	// liteMaxPages bounds a database in memory.
	liteMaxPages = 20_000
	// liteMaxBytes bounds one value.
	liteMaxBytes = 8 << 20
	// The numbers of limits: of the bytes of a value, and of databases that are attached, without which neither ATTACH nor
	// VACUUM INTO opens a file.
	liteLimitLength, liteLimitAttached = 0, 7
)

// lite is a copy of an SQLite database: its definitions. Each filling has a database of its own in memory, so
// nothing is left of it, however this process ends.
type lite struct {
	encoding    string
	definitions []string
}

func copySQLite(ctx context.Context, original *opendb.Database) (*lite, error) {
	c := &lite{}
	if err := original.QueryRowContext(ctx, "PRAGMA encoding").Scan(&c.encoding); err != nil {
		return nil, err
	}
	rows, err := original.QueryContext(ctx, `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
		ORDER BY CASE type WHEN 'table' THEN 1 WHEN 'index' THEN 2 WHEN 'view' THEN 3 ELSE 4 END, rowid`)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err says what went wrong.
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		if strings.HasPrefix(strings.ToUpper(text), "CREATE VIRTUAL") {
			return nil, errors.New("virtual tables keep their rows elsewhere, and cannot be copied")
		}
		c.definitions = append(c.definitions, text)
	}
	return c, rows.Err()
}

func (c *lite) renew(context.Context) error { return nil }
func (c *lite) drop() error                 { return nil }

func (c *lite) read(ctx context.Context) (*layout, error) {
	s, err := c.fresh(ctx)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if err := s.conn.Close(); err != nil { // the layout asks on its own
		return nil, err
	}
	return readLayout(ctx, s.db, dialect.SQLite)
}

func (c *lite) begin(ctx context.Context) (copySession, error) { return c.fresh(ctx) }

// fresh makes a database with the definitions and without rows.
func (c *lite) fresh(ctx context.Context) (s *liteSession, err error) {
	db, err := sql.Open("sqlite", "file::memory:?_pragma=foreign_keys(1)&_pragma=trusted_schema(0)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // a second one would be another database
	s = &liteSession{db: db}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.conn, err = db.Conn(ctx); err != nil {
		return nil, err
	}
	for limit, most := range map[int]int{liteLimitLength: liteMaxBytes, liteLimitAttached: 0} {
		if _, err := sqlite.Limit(s.conn, limit, most); err != nil {
			return nil, err
		}
	}
	settings := []string{"PRAGMA encoding = " + quoted(dialect.SQLite, c.encoding), "PRAGMA max_page_count = " + strconv.Itoa(liteMaxPages)}
	for _, text := range append(settings, c.definitions...) {
		if _, err := s.conn.ExecContext(ctx, text); err != nil {
			return nil, fmt.Errorf("copy the definitions: %w: %s", err, text)
		}
	}
	return s, nil
}

// liteSession is a session on a database in memory.
type liteSession struct {
	sqlSession

	db *sql.DB
}

func (s *liteSession) close() {
	if s.conn != nil {
		_ = s.conn.Close()
	}
	_ = s.db.Close()
}

func (s *liteSession) clear(context.Context, []*table) error { return nil } // it is new

// typed are arguments as numbers where they look like some.
func typed(args []string) []any {
	list := make([]any, len(args))
	for i, arg := range args {
		list[i] = arg
		if n, err := strconv.ParseInt(arg, 10, 64); err == nil && strconv.FormatInt(n, 10) == arg {
			list[i] = n
		}
	}
	return list
}

func (s *liteSession) execute(ctx context.Context, text string, args []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	before, err := s.changes(ctx)
	if err != nil {
		return "", err
	}
	count, err := drain(s.conn.QueryContext(ctx, text, typed(args)...))
	if err != nil {
		if ctx.Err() != nil {
			return "", errSlow
		}
		if refused, ok := errors.AsType[*sqlite.Error](err); ok {
			return "error " + strconv.Itoa(refused.Code()), err
		}
		return "error", err
	}
	after, err := s.changes(ctx)
	if err == nil && after != before { // those of triggers are not part of the answer
		err = s.conn.QueryRowContext(ctx, "SELECT changes()").Scan(&after)
		count = int(after)
	}
	return rowsAnswer(int64(count)), err
}

// changes counts the rows that were changed so far.
func (s *liteSession) changes(ctx context.Context) (n int64, err error) {
	err = s.conn.QueryRowContext(ctx, "SELECT total_changes()").Scan(&n)
	return n, err
}

// drain reads rows to their end, and counts them.
func drain(rows *sql.Rows, err error) (count int, _ error) {
	if err != nil {
		return 0, err
	}
	for rows.Next() {
		if count++; count > maxRows {
			return count, errors.Join(errTooMany, rows.Close())
		}
	}
	return count, errors.Join(rows.Err(), rows.Close())
}

func rowsAnswer(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return strconv.FormatInt(n, 10) + " rows"
}

// tick waits until the clock shows another time. CURRENT_TIMESTAMP shows seconds, and strftime('%f') milliseconds.
func (s *liteSession) tick(ctx context.Context, n int, coarse bool) error {
	if n == 0 {
		return nil
	}
	return wait(ctx, coarse)
}

// wait waits until the clock shows another millisecond or second.
func wait(ctx context.Context, coarse bool) error {
	unit := time.Millisecond
	if coarse {
		unit = time.Second
	}
	select {
	case <-time.After(time.Until(time.Now().Truncate(unit).Add(unit + time.Millisecond/2))):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *liteSession) counters(context.Context) ([]string, [][]sql.NullString, error) {
	return []string{"sequence"}, nil, nil
}

// columns quotes the values, which tells 1 from '1'.
func (s *liteSession) columns(t *table) string {
	list := make([]string, len(t.Columns))
	for i := range t.Columns {
		name := dialect.SQLite.Quote(t.Columns[i].Name)
		list[i] = "quote(" + name + ") AS " + name
	}
	return strings.Join(list, ", ")
}
