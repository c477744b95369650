package dbguard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/texts"
)

// ErrNotLockable means that the database cannot lock a row on its own: the table's
// engine has no transactions (MyISAM, Aria, MEMORY, CSV), or no unique index has
// the columns that name the row. The text says what to run.
var ErrNotLockable = errors.New("dbguard: the row cannot be locked on its own")

// learner is a session that keeps what guards have read of the catalogue.
type learner interface{ Learned() *sync.Map }

// checkEngine refuses a table whose engine has no transactions: it takes no lock,
// and keeps what is rolled back. A session that commits each statement promises neither.
func checkEngine(ctx context.Context, s Session, table string) error {
	if s.Dialect() != MySQL || autocommits(s) {
		return nil
	}
	return checkTable(ctx, s, table, nil)
}

// checkKeys refuses rows whose columns are not those of a unique key, and tables
// whose engine has no transactions. The rows are in the order of their tables.
func checkKeys(ctx context.Context, s Session, rows []Row) error {
	var table string
	var columns []string
	for _, row := range rows {
		named := texts.Of(row.Key, func(c Cell) string { return c.Column })
		if row.Table == table && slices.Equal(named, columns) {
			continue
		}
		table, columns = row.Table, named
		if err := checkTable(ctx, s, table, columns); err != nil {
			return err
		}
	}
	return nil
}

// checkTable looks at a table, once for each session or [Database] and set of columns. What is not a table of this database,
// such as a view, passes.
func checkTable(ctx context.Context, s Session, table string, columns []string) error {
	seen := table + "\x00" + strings.Join(columns, "\x00")
	l, learns := s.(learner)
	if learns {
		if _, fine := l.Learned().Load(seen); fine {
			return nil
		}
	}
	facts, err := readTable(ctx, s, table)
	if err != nil {
		return wrap("look at the table "+table, err)
	}
	switch {
	case facts.engine != "":
		return fmt.Errorf("%w: %s has the engine %s, without transactions and locks of rows (run: ALTER TABLE %s ENGINE=InnoDB)",
			ErrNotLockable, table, facts.engine, dialect.Dialect(s.Dialect()).QuotePath(table))
	case facts.found && len(columns) > 0 && !facts.identify(s.Dialect(), columns):
		return fmt.Errorf("%w: %s has no unique index on (%s), so a lock reaches other rows, or all of them (name the row by its primary key, or add the index: semel rules plan)",
			ErrNotLockable, table, strings.Join(columns, ", "))
	}
	if learns {
		l.Learned().Store(seen, nil)
	}
	return nil
}

// tableFacts describe a table.
type tableFacts struct {
	found  bool
	engine string              // "" where it has transactions
	keys   map[string][]string // the columns of each unique key
}

func readTable(ctx context.Context, s Session, table string) (tableFacts, error) {
	text, err := files.ReadFile("sql/table_" + s.Dialect().String() + ".sql")
	if err != nil {
		return tableFacts{}, err
	}
	schema, name, _ := cutLast(table)
	args := []any{schema, name}
	switch s.Dialect() {
	case PostgreSQL:
		args = []any{dialect.Dialect(s.Dialect()).QuotePath(table)}
	case MySQL:
		args = append(args, args...)
	case SQLite:
	}
	facts := tableFacts{keys: make(map[string][]string)}
	err = eachRow(ctx, s, string(text), args, func(rows Rows) error {
		var engine, key, column string
		err := rows.Scan(&engine, &key, &column)
		if key == "" {
			facts.found, facts.engine = true, engine
		} else {
			facts.keys[key] = append(facts.keys[key], column)
		}
		return err
	})
	return facts, serialization(err)
}

// identify reports whether at most one row has given values in the columns.
func (f *tableFacts) identify(d Dialect, columns []string) bool {
	for _, key := range f.keys {
		named := !slices.ContainsFunc(key, func(column string) bool {
			return !slices.ContainsFunc(columns, func(name string) bool {
				return name == column || d != PostgreSQL && strings.EqualFold(name, column)
			})
		})
		if named {
			return true
		}
	}
	return false
}

// create makes a table of the guards where it is not there, and refuses one that is
// there with an engine without transactions.
func create(ctx context.Context, s Session, table, verb string) error {
	if _, err := execVerb(ctx, s, table, verb); err != nil || s.Dialect() != MySQL {
		return err
	}
	return checkTable(ctx, s, table, nil)
}
