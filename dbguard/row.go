package dbguard

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
)

// Cell is a column and the value that it has or gets.
type Cell struct {
	Column string
	Value  any
}

// Row names one row of a table by the columns of a unique key: usually one,
// and the tenant where it is part of the key. See [RowAt].
type Row struct {
	Table string // may be qualified, such as billing.invoices
	Key   []Cell
}

// RowAt names the row that has the value in the column.
func RowAt(table, column string, value any) Row {
	return Row{Table: table, Key: []Cell{{Column: column, Value: value}}}
}

// ErrNotFound means that the row does not exist, or not for this session.
var ErrNotFound = errors.New("dbguard: the row does not exist")

// ErrNoTransaction means that a guard that works in a transaction only was
// given a pool or a connection: what it locks or remembers would be gone or kept
// before the work is done. Call it within [Database.InTx]. A transaction that was
// begun by a statement on a [*sql.Conn] cannot be seen; begin it by BeginTx.
var ErrNoTransaction = errors.New("dbguard: this guard works in a transaction: call it within Database.InTx")

// inTransaction refuses the sessions that are known to be in none.
func inTransaction(s Session) error {
	if _, ok := s.(Database); ok {
		return ErrNoTransaction
	}
	if a, ok := s.(autocommitter); ok && a.Autocommits() {
		return ErrNoTransaction
	}
	if own, ok := s.(sqlSession); ok {
		if _, ok := own.handle.(pinger); ok {
			return ErrNoTransaction
		}
	}
	return nil
}

// pinger is implemented by *sql.DB and *sql.Conn, even embedded, and not by *sql.Tx.
type pinger interface {
	PingContext(ctx context.Context) error
}

// check finds what would otherwise be a syntax error, or hit every row.
func (r Row) check() error {
	if r.Table == "" || len(r.Key) == 0 {
		return errors.New("dbguard: a row needs its table and at least one column of its key")
	}
	for _, c := range r.Key {
		if c.Column == "" {
			return fmt.Errorf("dbguard: a column of the key of %s has no name", r.Table)
		}
	}
	return nil
}

// statement is SQL that is built from names and values. Values become
// parameters, in the order of the text.
type statement struct {
	dialect dialect.Dialect
	text    strings.Builder
	args    []any
}

func build(d Dialect, start string) *statement {
	s := &statement{dialect: dialect.Dialect(d)}
	return s.add(start)
}

// add appends SQL unchanged.
func (s *statement) add(text string) *statement {
	s.text.WriteString(text)
	return s
}

// name appends a quoted name.
func (s *statement) name(name string) *statement { return s.add(s.dialect.QuotePath(name)) }

// column appends the quoted name of a column, in which dots mean nothing.
func (s *statement) column(name string) *statement { return s.add(s.dialect.Quote(name)) }

// value appends a parameter.
func (s *statement) value(v any) *statement {
	s.args = append(s.args, v)
	return s.add(s.dialect.Placeholder(len(s.args)))
}

// cells appends column = value for each, with something between.
func (s *statement) cells(cells []Cell, between string) *statement {
	for i, c := range cells {
		if i > 0 {
			s.add(between)
		}
		s.column(c.Column).add(" = ").value(c.Value)
	}
	return s
}

// forUpdate appends a locking clause where rows have locks, and nothing for
// SQLite, whose transactions hold the whole database.
func (s *statement) forUpdate(how string) *statement {
	if s.dialect == dialect.SQLite {
		return s
	}
	return s.add(" FOR UPDATE" + how)
}

// current appends FOR UPDATE where a read shows otherwise what was there when
// the transaction began, although the statement before it met what is there
// now: MySQL at REPEATABLE READ.
func (s *statement) current() *statement {
	if s.dialect == dialect.MySQL {
		return s.add(" FOR UPDATE")
	}
	return s
}

// exec runs it and says how many rows it affected.
func (s *statement) exec(ctx context.Context, session Session) (int64, error) {
	affected, err := session.Exec(ctx, s.text.String(), s.args...)
	return affected, serialization(err)
}

// each runs it and reads its rows.
func (s *statement) each(ctx context.Context, session Session, read func(Rows) error) error {
	return serialization(eachRow(ctx, session, s.text.String(), s.args, read))
}

// first reads the first row, if there is one.
func (s *statement) first(ctx context.Context, session Session, dest ...any) (found bool, err error) {
	return scanFirst(ctx, session, s.text.String(), s.args, dest...)
}
