package catalog

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/spelling"
	"github.com/semel-dev/semel/internal/texts"
)

// Table finds a table or view by its name, which may be qualified by its schema:
// billing.invoices. Names are compared as the dialect does: MySQL and SQLite
// ignore case; in PostgreSQL a name in another case matches if it is the only
// one.
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

// Near is the name of a table that is most like this one, qualified where it must
// be, or "".
func (s *Schema) Near(name string) string {
	bare := name[strings.IndexByte(name, '.')+1:]
	for i := range s.Tables {
		if t := &s.Tables[i]; s.same(t.Name, bare) { // in another schema
			return t.Path()
		}
	}
	return spelling.Nearest(name, texts.Of(s.Tables, func(t Table) string { return t.Path() }))
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

// Column finds a column by its name. Case counts only where two differ by
// nothing else.
func (t *Table) Column(name string) (*Column, bool) {
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
	if i < 0 {
		i = slices.IndexFunc(t.Columns, func(c Column) bool { return strings.EqualFold(c.Name, name) })
	}
	if i < 0 {
		return nil, false
	}
	return &t.Columns[i], true
}

// NearColumn is the name of the column that is most like this one, or "".
func (t *Table) NearColumn(name string) string {
	return spelling.Nearest(name, texts.Of(t.Columns, func(c Column) string { return c.Name }))
}

// Index finds an index by its name or that of its constraint.
func (t *Table) Index(name string) (*Index, bool) {
	i := slices.IndexFunc(t.Indexes, func(x Index) bool { return x.Name == name || x.Constraint == name })
	if i < 0 {
		i = slices.IndexFunc(t.Indexes, func(x Index) bool { return strings.EqualFold(x.Name, name) })
	}
	if i < 0 {
		return nil, false
	}
	return &t.Indexes[i], true
}

// PrimaryKey lists the columns of the primary key, or nil.
func (t *Table) PrimaryKey() []string {
	for i := range t.Indexes {
		if x := &t.Indexes[i]; x.Primary {
			return texts.Of(x.Parts, func(p Part) string { return p.Column })
		}
	}
	return nil
}
