package expression

import (
	"cmp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/texts"
)

// Test is a test that a row must pass to count.
type Test uint8

// Tests of one column.
const (
	Null     Test = iota // it is NULL
	NotNull              // it is not NULL
	True                 // it is true
	False                // it is false
	NotTrue              // it is false or NULL
	NotFalse             // it is true or NULL
	Equal                // it has the value
	NotEqual             // it has another value, and is not NULL
	Differs              // it has another value, or is NULL
)

// Condition is a test of a column.
type Condition struct {
	Column string
	Test   Test
	// Value is for Equal, NotEqual and Differs.
	Value Constant
}

// Predicate says which rows count: those that pass every condition. The zero
// Predicate is every row.
type Predicate []Condition

// Render writes the predicate in the words of a dialect, "" for every row. Its
// text is the same whenever it is written, in whatever order its conditions are,
// so that an upsert can name the index by it. The error is an [*Error] that says
// what cannot be tested on columns of these types.
func (p Predicate) Render(d dialect.Dialect, types ColumnTypes) (string, error) {
	for _, c := range p.Ordered() {
		if err := c.check(d, types); err != nil {
			return "", err
		}
	}
	return p.render(d), nil
}

// String writes the predicate for people, as PostgreSQL would have it.
func (p Predicate) String() string {
	return p.render(dialect.PostgreSQL)
}

func (p Predicate) render(d dialect.Dialect) string {
	return strings.Join(texts.Of(p.Ordered(), func(c Condition) string { return c.render(d) }), " AND ")
}

// Columns returns the columns that are looked at, each once.
func (p Predicate) Columns() []string {
	var names []string
	for _, c := range p.Ordered() {
		if !slices.Contains(names, c.Column) {
			names = append(names, c.Column)
		}
	}
	return names
}

// Ordered returns the conditions in the one order, none twice.
func (p Predicate) Ordered() Predicate {
	out := slices.Clone(p)
	slices.SortFunc(out, func(a, b Condition) int {
		return cmp.Or(cmp.Compare(a.Column, b.Column), cmp.Compare(a.Test, b.Test), cmp.Compare(a.Value.Text, b.Value.Text))
	})
	return slices.Compact(out)
}

func (c Condition) render(d dialect.Dialect) string {
	name, value := d.Quote(c.Column), c.Value.String()
	switch c.Test {
	case Null:
		return name + " IS NULL"
	case NotNull:
		return name + " IS NOT NULL"
	case True:
		return name + " IS TRUE"
	case False:
		return name + " IS FALSE"
	case NotTrue:
		return name + " IS NOT TRUE"
	case NotFalse:
		return name + " IS NOT FALSE"
	case Equal:
		return name + " = " + value
	case NotEqual:
		return name + " <> " + value
	case Differs:
	}
	switch d {
	case dialect.MySQL:
		return "NOT (" + name + " <=> " + value + ")"
	case dialect.SQLite:
		return name + " IS NOT " + value
	case dialect.PostgreSQL:
	}
	return name + " IS DISTINCT FROM " + value
}

// check reports a test that a column of its type does not have.
func (c Condition) check(d dialect.Dialect, types ColumnTypes) error {
	t := strings.ToLower(types.Of(c.Column).Type)
	truth := c.Test == True || c.Test == False || c.Test == NotTrue || c.Test == NotFalse
	if d == dialect.PostgreSQL && truth && t != "" && t != "boolean" && t != "bool" {
		return &Error{
			Text: c.Column, Message: d.String() + ": the column is " + t + ", which is neither true nor false",
			Fix: "write what it equals: " + c.Column + " = …",
		}
	}
	return nil
}
