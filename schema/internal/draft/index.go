package draft

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
	"github.com/semel-dev/semel/schema/catalog"
	"github.com/semel-dev/semel/schema/internal/serversql"
)

// tables sketches the rules of all tables, in their order.
func (s *sketch) tables() {
	for i := range s.schema.Tables {
		t := &s.schema.Tables[i]
		if t.Kind != catalog.Plain && t.Kind != catalog.Partitioned || ours(t) {
			continue
		}
		for j := range t.Indexes {
			if x := &t.Indexes[j]; x.Unique && !surrogate(t, x) {
				s.add(s.index(t, x))
			}
		}
		s.candidates(t)
	}
}

func (s *sketch) add(e entry) {
	if len(s.entries) >= maxRules {
		s.left++
		return
	}
	s.entries = append(s.entries, e)
}

// ours reports whether a table is Semel's own, or a migration tool's.
func ours(t *catalog.Table) bool {
	name := strings.ToLower(t.Name)
	return t.Schema == "semel" || strings.HasPrefix(name, "semel_") ||
		slices.Contains([]string{"schema_migrations", "goose_db_version", "schema_version", "flyway_schema_history"}, name)
}

// surrogate reports whether an index is the primary key on a number or an id
// that identifies the row and says nothing about it.
func surrogate(t *catalog.Table, x *catalog.Index) bool {
	if !x.Primary || len(x.Parts) != 1 {
		return false
	}
	column, ok := t.Column(x.Parts[0].Column)
	if !ok {
		return true
	}
	name := strings.ToLower(column.Name)
	return column.Minted || x.Name == "" || name == "id" || name == "uuid" || name == strings.TrimSuffix(strings.ToLower(t.Name), "s")+"_id"
}

// term is a term of a rule.
type term struct {
	text     string // as the rules file has it
	expr     expression.Expr
	raw      string // the SQL that the language cannot express
	columns  []string
	nullable bool
	// scope says that it looks like the scope of a rule.
	scope bool
}

// index sketches the rule of one index.
func (s *sketch) index(t *catalog.Table, x *catalog.Index) entry {
	terms, where, whereOK := s.read(t, x)
	r := rule{table: t.Path(), index: x.Name, nulls: "distinct"}
	r.terms, r.nulls = pairs(terms, x.NullsNotDistinct)
	for i := range r.terms {
		if r.terms[i].raw != "" {
			r.terms[i].text = rawText(s.schema.Dialect, &r.terms[i])
		}
	}
	r.divide(t)
	r.name = s.freeName(x.Name, t.Name, r.terms)
	why := ""
	if !whereOK {
		why = "the rules file cannot say which rows the index leaves out: " + x.Where
	}
	for _, condition := range where {
		exception, ok := except(t, condition)
		if !ok {
			why = "the rules file can say which rows do not count, and this index counts those only where " + expression.Predicate{condition}.String()
			continue
		}
		r.except = append(r.except, exception)
	}
	return entry{name: r.name, lines: r.lines(), why: why}
}

// read reads the parts of an index. A generated column counts as its
// expression.
func (s *sketch) read(t *catalog.Table, x *catalog.Index) (terms []term, where expression.Predicate, ok bool) {
	d := s.schema.Dialect
	where, ok = serversql.Predicate(d, x.Where)
	for _, p := range x.Parts {
		one, guard := readPart(d, t, &p)
		where = append(where, guard...)
		if one.expr.IsZero() && one.raw == "" { // it only says which rows count
			continue
		}
		one.text, one.columns = one.expr.String(), one.expr.Columns()
		if one.raw != "" {
			one.columns = mentioned(t, one.raw)
		}
		one.nullable = len(t.Nullable(one.columns)) > 0
		terms = append(terms, one)
	}
	return terms, where, ok
}

// readPart reads one part of an index, and which rows it leaves out.
func readPart(d dialect.Dialect, t *catalog.Table, p *catalog.Part) (one term, guard expression.Predicate) {
	var text string
	if one.expr, text, guard = t.Compared(d, p); one.expr.IsZero() && guard == nil {
		one.raw = text
	}
	if name, isColumn := one.expr.Column(); isColumn {
		one.expr = folded(t, name, p.Folding)
	}
	return one, guard
}

// folded is a column as a collation compares it: lower(x) where that ignores case
// alone, and collated(x) where it is the column's own and ignores more.
func folded(t *catalog.Table, name string, how catalog.Folding) expression.Expr {
	expr := expression.Column(name)
	own, known := t.Column(name)
	switch {
	case how.IgnoresCase && !how.IgnoresAccents:
		if lower, err := expression.Parse("lower(" + expr.String() + ")"); err == nil {
			return lower
		}
	case how.Loose && known && own.Folding == how:
		return expression.Collated(name)
	}
	return expr
}

// pairs joins the two parts that make NULL the same as NULL: a constant in place
// of NULL, and whether it is NULL.
func pairs(terms []term, notDistinct bool) ([]term, string) {
	var flags []string
	for _, one := range terms {
		if function, x, _ := one.expr.Argument(); function == "is_null" {
			flags = append(flags, x.Columns()...)
		}
	}
	nulls := "distinct"
	if notDistinct {
		nulls = "same"
	}
	var out []term
	anyNullable := false
	for _, one := range terms {
		function, x, _ := one.expr.Argument()
		paired := len(one.columns) == 1 && slices.Contains(flags, one.columns[0])
		switch {
		case function == "is_null":
			nulls = "same"
			continue
		case function == "coalesce" && paired:
			one.expr, one.text = x, x.String()
		case function == "coalesce":
			one.nullable = false
		}
		anyNullable = anyNullable || one.nullable
		out = append(out, one)
	}
	if !anyNullable {
		nulls = ""
	}
	return out, nulls
}

// mentioned lists the columns of a table whose names occur in a text of SQL.
func mentioned(t *catalog.Table, text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	var names []string
	for i := range t.Columns {
		if slices.Contains(words, strings.ToLower(t.Columns[i].Name)) {
			names = append(names, t.Columns[i].Name)
		}
	}
	return names
}

// rawText is an expression in the words of the dialect, as the file has it.
func rawText(d dialect.Dialect, one *term) string {
	return "{" + d.String() + ": " + quoted(one.raw) + ", columns: [" + joined(one.columns) + "]}"
}

// except is the exception that leaves the same rows that the condition does.
func except(t *catalog.Table, c expression.Condition) (string, bool) {
	name := expression.Column(c.Column).String()
	column, ok := t.Column(c.Column)
	notNull := ok && !column.Nullable
	switch c.Test {
	case expression.Null:
		return name + " is set", true
	case expression.NotNull:
		return name + " is null", true
	case expression.NotTrue:
		return name + " is true", true
	case expression.NotFalse:
		return name + " is false", true
	case expression.Differs:
		return name + " = " + c.Value.String(), true
	case expression.False:
		return name + " is true", notNull
	case expression.True:
		return name + " is false", notNull
	case expression.NotEqual:
		return name + " = " + c.Value.String(), notNull
	case expression.Equal:
	}
	return "", false
}
