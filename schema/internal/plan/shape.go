package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/catalog"
)

// shape is the unique index that enforces a rule in one database.
type shape struct {
	dialect dialect.Dialect
	rule    *rules.Unique
	table   *catalog.Table
	// display names the table for people, path in SQL.
	display, path string
	index         string
	parts         []part
	// where is the predicate, "" for all rows. MySQL has none: there a part that is
	// NULL for rows that do not count replaces it.
	where     string
	predicate expression.Predicate
	types     expression.ColumnTypes
	// nullsSame says that the server is to treat NULL as a value (NULLS NOT
	// DISTINCT); where it cannot, parts hold pairs that are never NULL.
	nullsSame bool
	// lookup says that the index is not to be unique.
	lookup bool
}

// part is one part of the index.
type part struct {
	// expr is the compared expression; the zero Expr for a raw expression, whose text is raw.
	expr expression.Expr
	raw  string
	// live marks the part that represents the predicate.
	live bool
	// nullable says that the part can be NULL.
	nullable bool
	// sql is the part within the index, value the same in a query.
	sql, value string
	// column is a generated column to add for the part, "" for none; kind is its
	// type and definition its expression.
	column, kind, definition string
}

// shape works out what the index must be.
func (m *maker) shape(u *rules.Unique) (*shape, *Refusal) {
	s, refused := m.parts(u)
	if refused != nil || s.enforced() {
		return s, refused
	}
	return s, m.checkPartitionKey(s)
}

// parts works out which rows are the same.
func (m *maker) parts(u *rules.Unique) (*shape, *Refusal) {
	table, refused := m.findTable(u.Table)
	if refused != nil {
		return nil, refused
	}
	switch table.Kind {
	case catalog.View, catalog.Foreign:
		return nil, refusal("name the table that holds the rows", "%s is a view or a foreign table, which enforces nothing", u.Table)
	case catalog.Partition:
		return nil, refusal("name the table that it is a partition of", "%s is one partition: what is unique there is not unique in the whole", u.Table)
	case catalog.Plain, catalog.Partitioned:
	}
	s := &shape{
		dialect: m.schema.Dialect, rule: u, table: table, display: u.Table, path: m.schema.Dialect.QuotePath(table.Path()),
		index: cmp.Or(u.Index, u.Name), types: table.Types(),
	}
	if refused := s.setPredicate(); refused != nil {
		return nil, refused
	}
	s.nullsSame = u.Nulls == rules.NullsSame && s.dialect == dialect.PostgreSQL && m.version >= nullsNotDistinctSince
	for _, term := range u.Terms() {
		if refused := m.addTerm(s, &term); refused != nil {
			return nil, refused
		}
	}
	if s.dialect == dialect.MySQL && s.where != "" {
		s.addGenerated(part{live: true, value: "CASE WHEN " + s.where + " THEN 1 END"}, "tinyint", false)
	}
	return s, nil
}

// nullsNotDistinctSince is the first PostgreSQL that has NULLS NOT DISTINCT.
const nullsNotDistinctSince = 15

// sibling returns a name in the schema of the table, where PostgreSQL and
// SQLite keep its indexes.
func (s *shape) sibling(name string) string {
	return strings.TrimSuffix(s.path, s.dialect.Quote(s.table.Name)) + s.dialect.Quote(name)
}

// setPredicate works out which rows count: those for which no exception holds.
func (s *shape) setPredicate() *Refusal {
	for _, exception := range s.rule.Except {
		if _, refused := findColumn(s.table, exception.Counts.Column); refused != nil {
			return refused
		}
	}
	s.predicate = s.rule.Predicate()
	where, err := s.predicate.Render(s.dialect, s.types)
	if err != nil {
		return unsayable(err)
	}
	s.where = where
	return nil
}

// addTerm adds the parts for one term.
func (m *maker) addTerm(s *shape, term *rules.Term) *Refusal {
	for _, name := range term.Columns {
		if _, refused := findColumn(s.table, name); refused != nil {
			return refused
		}
	}
	if term.Raw != nil {
		raw := term.Raw[s.dialect]
		if raw == "" {
			return refusal(fmt.Sprintf("add %s: … to it", s.dialect), "the field %s is not written for %s", term.Text, s.dialect)
		}
		return m.addRaw(s, term, raw)
	}
	expr := term.Expr
	if s.rule.Nulls != rules.NullsSame || s.nullsSame || !s.canBeNull(expr) {
		return m.addExpr(s, expr)
	}
	return m.addPair(s, expr)
}

// addPair adds a term in which NULL is a value like others, for servers without
// NULLS NOT DISTINCT: a constant replaces NULL, and whether it does is a part
// of its own, so that no real value collides with it.
func (m *maker) addPair(s *shape, expr expression.Expr) *Refusal {
	columns := expr.Columns()
	name, isColumn := expr.Column()
	if !isColumn && len(columns) != 1 {
		return refusal("name plain columns, or let the rule say nulls: distinct", "NULL in %s cannot be the same as NULL on this server", expr)
	}
	if !isColumn {
		name = columns[0]
	}
	column, refused := findColumn(s.table, name)
	if refused != nil {
		return refused
	}
	if slices.Contains(expr.Functions(), "coalesce") {
		return m.addExpr(s, expr)
	}
	constant, ok := standIn(expr, column, s.dialect)
	if !ok {
		return refusal("make the column NOT NULL, or let the rule say nulls: distinct",
			"NULL in %s cannot be the same as NULL: the type %s has no constant to represent it", name, column.Type)
	}
	if refused := m.addExpr(s, expression.Coalesce(expr, constant)); refused != nil {
		return refused
	}
	return m.addExpr(s, expression.IsNull(name))
}

// standIn is a constant of the expression's type.
func standIn(expr expression.Expr, column *catalog.Column, d dialect.Dialect) (expression.Constant, bool) {
	text, zero := expression.Constant{}, expression.Constant{Text: "0", Number: true}
	if functions := expr.Functions(); len(functions) > 0 {
		switch functions[0] {
		case "year", "month", "day", "hour":
			return zero, true
		case "lower", "upper", "trim":
			return text, true
		}
		return text, false
	}
	kind := cmp.Or(column.Base, strings.ToLower(column.Type))
	for _, known := range []struct {
		prefixes string
		constant expression.Constant
	}{
		{"int smallint bigint tinyint mediumint numeric decimal float double real serial bit", zero},
		{"text char varchar character citext name bytea blob binary varbinary tinytext enum", text},
		{"date", expression.Constant{Text: "1000-01-01"}},
		{"timestamp datetime", expression.Constant{Text: "1990-01-01 00:00:00"}},
		{"uuid", expression.Constant{Text: "00000000-0000-0000-0000-000000000000"}},
		{"bool", expression.Constant{Text: "false"}},
	} {
		for prefix := range strings.FieldsSeq(known.prefixes) {
			if strings.HasPrefix(kind, prefix) {
				return known.constant, true
			}
		}
	}
	return zero, d == dialect.SQLite // values have types there, and columns have none
}

// addExpr adds a part for an expression of the language.
func (m *maker) addExpr(s *shape, expr expression.Expr) *Refusal {
	rendered, err := expr.Render(s.dialect, s.types)
	if err != nil {
		return unsayable(err)
	}
	p := part{expr: expr, value: rendered, nullable: s.canBeNull(expr)}
	name, isColumn := expr.Column()
	column, refused := findColumn(s.table, expr.Columns()[0])
	if refused != nil {
		return refused
	}
	switch s.dialect {
	case dialect.MySQL:
		return m.addMySQL(s, p, column)
	case dialect.SQLite:
		p.sql = p.value
		switch {
		case column.Loose && expr.IsCollated() && !isColumn: // an expression has no collation of its own
			p.sql, p.value = p.sql+" COLLATE "+column.Collation, p.value+" COLLATE "+column.Collation
		case column.Loose && expr.MayBeText() && !expr.IsCollated(): // NOCASE or RTRIM of the column would count
			p.sql, p.value = p.sql+" COLLATE BINARY", p.value+" COLLATE BINARY"
		}
	case dialect.PostgreSQL:
		if isColumn {
			p.sql = s.dialect.Quote(name)
		} else {
			p.sql = "(" + rendered + ")"
		}
		if column.Loose && expr.MayBeText() && !expr.IsCollated() {
			exact(&p, column)
		}
	}
	s.parts = append(s.parts, p)
	return nil
}

// exact makes a part of PostgreSQL distinguish texts that the column's type or
// collation does not.
func exact(p *part, column *catalog.Column) {
	if column.Base == "citext" {
		p.value = "(" + p.value + ")::text"
		p.sql = "(" + p.value + ")"
		return
	}
	p.sql += ` COLLATE "C"`
	p.value = "(" + p.value + `) COLLATE "C"`
}

// addRaw adds a part for an expression in the words of the dialect.
func (m *maker) addRaw(s *shape, term *rules.Term, raw string) *Refusal {
	p := part{raw: raw, nullable: true, sql: "(" + raw + ")", value: "(" + raw + ")"}
	if s.dialect != dialect.MySQL {
		s.parts = append(s.parts, p)
		return nil
	}
	kind := "varchar(255)"
	if len(term.Columns) > 0 {
		column, refused := findColumn(s.table, term.Columns[0])
		if refused != nil {
			return refused
		}
		kind = column.Type
	}
	s.addGenerated(p, kind, false)
	return nil
}

// canBeNull reports whether an expression is NULL for some row.
func (s *shape) canBeNull(expr expression.Expr) bool {
	malformed := s.dialect == dialect.SQLite && !expr.MayBeText() // a malformed date gives NULL there
	return !expr.NeverNull() && (malformed || len(s.table.Nullable(expr.Columns())) > 0)
}

// nullable lists the columns that the rule forbids to be NULL and that can be.
func (s *shape) nullable(u *rules.Unique) []string {
	if u.Nulls != rules.NullsForbidden {
		return nil
	}
	return s.table.Nullable(u.Columns())
}

// checkPartitionKey refuses what cannot be unique over partitions.
func (m *maker) checkPartitionKey(s *shape) *Refusal {
	if s.table.Kind != catalog.Partitioned {
		return nil
	}
	const fix = "add the column to the rule, partition by a column of the rule, or keep what must be unique in a table of its own"
	for _, key := range s.table.PartitionBy {
		if key == "" {
			return refusal(fix, "%s is partitioned by an expression, so nothing can be unique over its partitions", s.display)
		}
		has := slices.ContainsFunc(s.parts, func(p part) bool {
			name, isColumn := p.expr.Column()
			return isColumn && name == key && p.column == ""
		})
		if !has {
			return refusal(fix, "%s is partitioned by %s, which is not a field of the rule: rows in different partitions cannot be compared", s.display, key)
		}
	}
	return nil
}

// keys lists the parts as the index has them.
func (s *shape) keys() string {
	return strings.Join(texts.Of(s.parts, func(p part) string { return p.sql }), ", ")
}

// generatedName names the generated column of the nth part.
func (s *shape) generatedName(n int) string {
	return shorten("semel_"+s.index+"_"+strconv.Itoa(n), maxMySQLName)
}
