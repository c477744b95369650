package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/spelling"
	"github.com/semel-dev/semel/internal/texts"
)

// Table finds a table or view by its name, which may be qualified by its schema: billing.invoices. Names are compared as the
// dialect does: MySQL and SQLite ignore case; in PostgreSQL a name in another case matches if it is the only one.
func (s *Schema) Table(name string) (*Table, bool) {
	schema, bare, qualified := strings.Cut(name, ".")
	if !qualified {
		schema, bare = "", name
	}
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, s.same} {
		for i := range s.Tables {
			t := &s.Tables[i]
			if same(t.Name, bare) && (same(t.Schema, schema) || !qualified && t.Visible) {
				return t, true
			}
		}
	}
	return nil, false
}

// Near is the name of a table that is most like this one, qualified where it must be, or "".
func (s *Schema) Near(name string) string {
	bare := name[strings.IndexByte(name, '.')+1:]
	for i := range s.Tables {
		if t := &s.Tables[i]; s.same(t.Name, bare) { // in another schema
			return t.Path()
		}
	}
	return spelling.Nearest(name, texts.Of(s.Tables, func(t Table) string { return t.Path() }))
}

// NoTable is the error about a table that the database lacks. It suggests the name that was meant.
func (s *Schema) NoTable(name string) error {
	return fmt.Errorf("the database has no table %s (%s)", name, spelling.Ask(s.Near(name), "write its name as the database has it"))
}

// NoColumn is the error about a column that the table lacks. It suggests the name that was meant.
func (t *Table) NoColumn(name string) error {
	return fmt.Errorf("the table %s has no column %s (%s)", t.Path(), name, spelling.Ask(t.NearColumn(name), "write its name as the table has it"))
}

// same compares names as the dialect does.
func (s *Schema) same(a, b string) bool {
	return a == b || s.Dialect != dialect.PostgreSQL && strings.EqualFold(a, b)
}

// Path is the table's name, qualified unless the bare name means it.
func (t *Table) Path() string {
	if t.Visible || t.Schema == "" {
		return t.Name
	}
	return t.Schema + "." + t.Name
}

// first finds what the first test accepts, or else what the next one accepts.
func first[T any](all []T, tests ...func(T) bool) (*T, bool) {
	for _, test := range tests {
		if i := slices.IndexFunc(all, test); i >= 0 {
			return &all[i], true
		}
	}
	return nil, false
}

// Column finds a column by its name. Case counts only where two differ by nothing else.
func (t *Table) Column(name string) (*Column, bool) {
	return first(t.Columns, func(c Column) bool { return c.Name == name }, func(c Column) bool { return strings.EqualFold(c.Name, name) })
}

// NearColumn is the name of the column that is most like this one, or "".
func (t *Table) NearColumn(name string) string {
	return spelling.Nearest(name, texts.Of(t.Columns, func(c Column) string { return c.Name }))
}

// Index finds an index by its name or that of its constraint.
func (t *Table) Index(name string) (*Index, bool) {
	return first(t.Indexes, func(x Index) bool { return x.Name == name || x.Constraint == name }, func(x Index) bool { return strings.EqualFold(x.Name, name) })
}

// PrimaryKey lists the columns of the primary key, or nil.
func (t *Table) PrimaryKey() []string {
	if x, ok := first(t.Indexes, func(x Index) bool { return x.Primary }); ok {
		return texts.Of(x.Parts, func(p Part) string { return p.Column })
	}
	return nil
}
