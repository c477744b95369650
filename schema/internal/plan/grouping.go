package plan

import (
	"context"
	"database/sql"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/catalog"
)

// Grouping says which rows of a table are the same by a rule, in the words of the index that would refuse them.
type Grouping struct {
	Table *catalog.Table
	// Terms are SQL expressions over the table's columns; rows of a group have the same values of all.
	Terms []string
	// Nulls says of each term whether its NULL is the same as another one.
	Nulls []bool
	// Where leaves out the rows that cannot collide; "" counts all.
	Where string
	// Columns are those that terms and condition read; nil where the rule has SQL of its own, which may read any.
	Columns []string
	// Index is the name of the index.
	Index string
	// Kinds are the types that the index has for the terms, with their collations; of MySQL only.
	Kinds []string
}

// Group returns the grouping of a rule, or why the database cannot have one. In contrast to [Make], it takes tables whose
// partitions no index could compare.
func Group(schema *catalog.Schema, u *rules.Unique) (*Grouping, *Refusal) {
	m := &maker{schema: schema, version: majorVersion(schema.Server)}
	s, refused := m.parts(u)
	if refused != nil {
		return nil, refused
	}
	g := &Grouping{Table: s.table, Terms: texts.Of(s.keyParts(), func(p part) string { return p.value }), Where: s.counts(), Index: s.index}
	for _, p := range s.keyParts() {
		g.Nulls = append(g.Nulls, s.nullsSame && p.nullable)
		if s.dialect == dialect.MySQL {
			g.Kinds = append(g.Kinds, s.kindOf(&p))
		}
	}
	g.Columns = u.Columns()
	for _, e := range u.Except {
		g.Columns = append(g.Columns, e.Counts.Column)
	}
	for _, t := range u.Terms() {
		if t.Raw != nil {
			g.Columns = nil
			break
		}
	}
	return g, nil
}

// kindOf is the type of a part in the index: that of its generated column, or that of the column.
func (s *shape) kindOf(p *part) string {
	name, _ := p.expr.Column()
	column, ok := s.table.Column(name)
	if p.column != "" || !ok {
		return p.kind
	}
	return column.Type + collated(column.Collation)
}

// collated is a collation behind a type.
func collated(collation string) string {
	if charset, _, ok := strings.Cut(collation, "_"); ok {
		return " CHARACTER SET " + charset + " COLLATE " + collation
	}
	return ""
}

// Lookup plans an index that is not unique, in the same words as that of the rule, so that rows of a group are found quickly.
// There is nothing to do where the table has a valid index of this name.
func Lookup(ctx context.Context, db *sql.DB, d dialect.Dialect, u *rules.Unique, name string) (*RuleStep, error) {
	schema, err := catalog.Read(ctx, db, d)
	if err != nil {
		return nil, err
	}
	m := &maker{db: db, schema: schema, opts: (*Options)(nil).withDefaults(), version: majorVersion(schema.Server)}
	step := &RuleStep{Rule: u.Name, Table: u.Table}
	s, refused := m.parts(u)
	if refused != nil {
		step.Refused = refused
		return step, nil
	}
	s.index, s.lookup = name, true
	if old, there := s.table.Index(name); there && old.Valid {
		return step, nil
	}
	switch d {
	case dialect.PostgreSQL:
		err = m.postgres(ctx, step, s, nil)
	case dialect.SQLite:
		m.sqlite(step, s, nil)
	case dialect.MySQL:
	}
	return step, err
}
