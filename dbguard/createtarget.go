package dbguard

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/rules"
)

// Target says which rows are the same thing: those that a unique index holds to
// be so. There must be such an index: PostgreSQL and SQLite refuse the statement
// without one; MySQL cannot see that it is missing, and then nothing guards: even an
// [Upsert] that should change a row adds another.
type Target struct {
	// Rule is a rule of the rules file; the fields below are then not needed.
	Rule *rules.Unique
	// Columns are the columns of the index.
	Columns []string
	// Where is the predicate of a partial index, in the words of the database. It
	// is SQL: never put anything of a request into it. Ignored on MySQL, which
	// has no such indexes.
	Where string
}

// creation is an insert, made ready for a dialect.
type creation struct {
	*Insert

	dialect dialect.Dialect
	table   string   // quoted
	terms   []string // of the index, as SQL
	where   string   // its predicate, as SQL, or ""
	match   string   // the condition under which a row is the same thing
	args    []any    // of match

	types map[string]string // of the columns, once they are needed

	flags    string // further columns of the row that is there
	flagArgs []any
	noFlags  string // the same number of them, of one that was inserted
}

func newCreation(d Dialect, in *Insert) (*creation, error) {
	of := dialect.Dialect(d)
	c := &creation{Insert: in, dialect: of, table: of.QuotePath(in.Table)}
	terms, _ := in.Unique.terms()
	switch {
	case len(in.Columns) == 0 || len(in.Columns) != len(in.Values):
		return nil, fmt.Errorf("dbguard: insert into %s: %d columns and %d values (give one for each)", in.Table, len(in.Columns), len(in.Values))
	case len(terms) == 0:
		return nil, fmt.Errorf("dbguard: insert into %s: nothing says what makes a row the same (set Unique.Rule or Unique.Columns)", in.Table)
	case len(in.Returning) == 0:
		return nil, fmt.Errorf("dbguard: insert into %s: no column to return (set Returning)", in.Table)
	case in.Unique.Rule != nil && lastName(in.Unique.Rule.Table) != lastName(in.Table):
		return nil, fmt.Errorf("dbguard: insert into %s: rule %s is about %s", in.Table, in.Unique.Rule.Name, in.Unique.Rule.Table)
	}
	return c, c.prepare()
}

// prepare writes what the index is made of, and which row is the same thing.
func (c *creation) prepare() (err error) {
	if c.where, err = c.Unique.predicate(c.dialect); err != nil {
		return err
	}
	terms, nulls := c.Unique.terms()
	c.terms, c.args = nil, nil
	conditions := make([]string, 0, len(terms)+1)
	for i := range terms {
		condition, err := c.term(&terms[i], nulls)
		if err != nil {
			return err
		}
		conditions = append(conditions, condition)
	}
	if c.where != "" {
		conditions = append(conditions, "("+c.where+")")
	}
	c.match = strings.Join(conditions, " AND ")
	return nil
}

// term adds a term of the index, and returns the condition that a row has the
// same value there.
func (c *creation) term(term *rules.Term, nulls rules.Nulls) (string, error) {
	if term.Column != "" {
		at := slices.Index(c.Columns, term.Column)
		if at < 0 {
			return "", c.lacks(term.Column)
		}
		column := c.dialect.Quote(term.Column)
		c.terms = append(c.terms, column)
		if !isNull(c.Values[at]) {
			return column + " = " + c.stored(term.Column, c.arg(c.Values[at])), nil
		}
		if nulls == rules.NullsDistinct {
			return "", fmt.Errorf("dbguard: insert into %s: %s is NULL, and rows with NULL there are never the same thing (insert it without this guard)", c.Table, term.Column)
		}
		return column + " IS NULL", nil
	}
	text, err := term.Render(c.dialect, nil)
	if err != nil {
		return "", fmt.Errorf("dbguard: insert into %s: %w", c.Table, err)
	}
	c.terms = append(c.terms, "("+text+")")
	if nulls == rules.NullsDistinct && c.alwaysNull(term) {
		return "", fmt.Errorf("dbguard: insert into %s: %s is NULL, and rows with NULL there are never the same thing (insert it without this guard)", c.Table, term.Text)
	}
	// The values that were sent have the types of their columns here, and so the
	// expression means what it means in the index.
	columns, args := make([]string, 0, len(term.Columns)), make([]string, 0, len(term.Columns))
	for _, name := range term.Columns {
		at := slices.Index(c.Columns, name)
		if at < 0 {
			return "", c.lacks(name)
		}
		columns, args = append(columns, c.dialect.Quote(name)), append(args, c.arg(c.Values[at]))
	}
	sent := "(SELECT " + text + " FROM (SELECT " + strings.Join(columns, ", ") + " FROM " + c.table + " WHERE 1 = 0 UNION ALL SELECT " +
		strings.Join(args, ", ") + ") AS sent)"
	if nulls != rules.NullsSame {
		return "(" + text + ") = " + sent, nil
	}
	switch c.dialect {
	case dialect.MySQL:
		return "(" + text + ") <=> " + sent, nil
	case dialect.SQLite:
		return "(" + text + ") IS " + sent, nil
	case dialect.PostgreSQL:
	}
	return "(" + text + ") IS NOT DISTINCT FROM " + sent, nil
}

// alwaysNull reports whether an expression is NULL for the values that were sent.
// For a raw expression of the database that is unknown, and it reports false.
func (c *creation) alwaysNull(term *rules.Term) bool {
	functions := term.Expr.Functions()
	if len(functions) == 0 || slices.Contains(functions, "coalesce") || slices.Contains(functions, "is_null") {
		return false
	}
	return slices.ContainsFunc(term.Columns, func(name string) bool {
		at := slices.Index(c.Columns, name)
		return at >= 0 && isNull(c.Values[at])
	})
}

func (c *creation) lacks(column string) error {
	return fmt.Errorf("dbguard: insert into %s: %s makes a row the same, and has no value (add it to Columns)", c.Table, column)
}

// arg adds an argument of match.
func (c *creation) arg(value any) string {
	c.args = append(c.args, value)
	return c.dialect.Placeholder(len(c.args))
}

// terms returns the terms of the index.
func (t *Target) terms() ([]rules.Term, rules.Nulls) {
	if t.Rule != nil {
		return t.Rule.Terms(), t.Rule.Nulls
	}
	terms := make([]rules.Term, len(t.Columns))
	for i, column := range t.Columns {
		terms[i] = rules.Term{Text: column, Column: column}
	}
	return terms, rules.NullsDistinct
}

// predicate is that of the index.
func (t *Target) predicate(d dialect.Dialect) (string, error) {
	switch {
	case t.Rule != nil && t.Where != "":
		return "", errors.New("dbguard: a target has a rule, which says what counts, and a Where (leave one out)")
	case t.Rule != nil:
		text, err := t.Rule.Predicate().Render(d, nil)
		if err != nil {
			return "", fmt.Errorf("dbguard: rule %s: %w", t.Rule.Name, err)
		}
		return text, nil
	case d == dialect.MySQL:
		return "", nil
	}
	return t.Where, nil
}

// isNull reports whether a driver sends the value as NULL.
func isNull(value any) bool {
	if value == nil {
		return true
	}
	switch v := reflect.ValueOf(value); v.Kind() { //nolint:exhaustive // the others are never nil.
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if v.IsNil() {
			return true
		}
	}
	if valuer, ok := value.(driver.Valuer); ok {
		sent, err := valuer.Value()
		return err == nil && sent == nil
	}
	return false
}
