package rerun

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
)

const (
	// maxRows bounds the rows of one table, and of one answer.
	maxRows = 2_000
	// maxTables bounds the tables that one statement reaches.
	maxTables = 80
	// maxTextBytes bounds a statement.
	maxTextBytes = 64 << 10
)

var errTooMany = fmt.Errorf("more than %d rows in a table", maxRows)

// copySession runs one statement on a copy.
type copySession interface {
	// clear removes the rows of the tables.
	clear(ctx context.Context, tables []*table) error
	// insert runs statements; rows that are refused are left out.
	insert(ctx context.Context, list []string, tables []*table) error
	// arguments says which arguments a statement takes.
	arguments(ctx context.Context, text string, names []string) ([]parameter, error)
	// execute runs the statement, and describes its answer.
	execute(ctx context.Context, text string, args []string) (answer string, err error)
	// tick sets the clock to its nth time, or waits until it shows another one: coarse clocks show seconds.
	tick(ctx context.Context, n int, coarse bool) error
	// query reads rows as texts.
	query(ctx context.Context, text string) (names []string, lines [][]sql.NullString, err error)
	// counters returns how far the sequences are.
	counters(ctx context.Context) (names []string, lines [][]sql.NullString, err error)
	// columns returns the list of a SELECT that reads a table.
	columns(t *table) string
	close()
}

// sqlSession has the methods that sessions by database/sql share.
type sqlSession struct{ conn *sql.Conn }

func (s *sqlSession) insert(ctx context.Context, list []string, _ []*table) error {
	if _, err := s.conn.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	for _, text := range list {
		_, _ = s.conn.ExecContext(ctx, text) // a row that a key or a check refuses is left out
	}
	_, err := s.conn.ExecContext(ctx, "COMMIT")
	return err
}

func (*sqlSession) arguments(_ context.Context, _ string, names []string) ([]parameter, error) { //nolint:unparam // copySession asks for it.
	return make([]parameter, len(names)), nil
}

func (s *sqlSession) query(ctx context.Context, text string) ([]string, [][]sql.NullString, error) { //nolint:unparam // copySession asks for it.
	rows, err := s.conn.QueryContext(ctx, text)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close() //nolint:errcheck // scan says what went wrong.
	return scan(rows)
}

// parameter is an argument that a statement takes.
type parameter struct {
	examples []string // values that suit where the rows say nothing; nil for "1"
	listed   bool     // it is an array of such values
}

// value returns what is bound: the values of rows or, without any, the examples; of an array, all. whole says that each
// value is an array already.
func (p *parameter) value(values []string, whole bool) string {
	if len(values) == 0 || whole && !p.listed {
		values, whole = p.examples, false
	}
	switch {
	case len(values) == 0:
		return "1"
	case p.listed && !whole:
		return array(values)
	}
	return values[0]
}

// contents are the rows of one table.
type contents struct {
	table string
	key   []int
	names []string
	times []bool // columns that hold times
	lines [][]sql.NullString
}

// state is the contents of all tables that a statement reaches.
type state []contents

// snapshot reads the state.
func (e *engine) snapshot(ctx context.Context, s copySession, tables []*table, a *admitted) (state, error) {
	var all state
	for _, t := range tables {
		names, lines, err := s.query(ctx, "SELECT "+s.columns(t)+" FROM "+t.path)
		if err != nil && a.defines { // it is gone
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", t.Name, err)
		}
		all = append(all, newContents(e.layout.dialect, t, names, lines))
	}
	if a.defines {
		query, err := text(e.layout.dialect, "definitions")
		if err != nil {
			return nil, err
		}
		names, lines, err := s.query(ctx, query)
		if err != nil {
			return nil, fmt.Errorf("read the definitions: %w", err)
		}
		all = append(all, contents{table: "definitions", names: names, lines: lines, times: make([]bool, len(names))})
	}
	names, lines, err := s.counters(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the sequences: %w", err)
	}
	return append(all, contents{table: sequences, key: []int{0}, names: names, lines: lines, times: make([]bool, len(names))}), nil
}

func newContents(d dialect.Dialect, t *table, names []string, lines [][]sql.NullString) contents {
	c := contents{table: t.Name, names: names, lines: lines}
	for i, name := range names {
		if slices.Contains(t.key, name) {
			c.key = append(c.key, i)
		}
		kind := other
		if col, ok := t.Column(name); ok {
			kind = familyOf(d, col, "")
		}
		c.times = append(c.times, kind == moment || kind == day || kind == clock)
	}
	return c
}

// sequences names the table that the sequences make up.
const sequences = "sequences"

// countsSequences reports whether how far the sequences are is part of what a statement changes. An INSERT that is
// refused takes a number as well, which changes nothing that counts.
func (a *admitted) countsSequences() bool {
	inserts := false
	for _, t := range a.tokens {
		switch word := strings.ToLower(t.Text); word {
		case "nextval", "setval", "alter", "restart":
			return true
		case "next":
			return true
		case "insert", "merge", "replace":
			inserts = true
		}
	}
	return !inserts
}

// firstLine is an error of a database on one line.
func firstLine(err error) error {
	line, _, _ := strings.Cut(strings.TrimSpace(dialect.Discreet(err).Error()), "\n")
	return errors.New(line)
}
