package verify

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
	"github.com/semel-dev/semel/internal/rules/sqltext"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/catalog"
	"github.com/semel-dev/semel/schema/internal/serversql"
)

// write is a statement that puts rows into a table.
type write struct {
	file  string
	line  int
	table string
	// ignore and replace say INSERT IGNORE, OR IGNORE, REPLACE, OR REPLACE.
	ignore, replace bool
	// onDuplicate says ON DUPLICATE KEY UPDATE.
	onDuplicate bool
	// target says ON CONFLICT (…): its parts, and the predicate after it.
	target    bool
	parts     []string
	where     string
	whereSaid bool
	// constraint is the name after ON CONFLICT ON CONSTRAINT.
	constraint string
}

// readWrite reads a statement from its INSERT or REPLACE on, as far as it says
// what is done about a row that is there.
func readWrite(tokens []sqltext.Token) (write, bool) {
	w := write{replace: tokens[0].Is("REPLACE")}
	at := 1
	for ; at < len(tokens) && !tokens[at].Is("INTO"); at++ {
		switch t := tokens[at]; {
		case t.Is("IGNORE"):
			w.ignore = true
		case t.Is("REPLACE"):
			w.replace = true
		case t.Is("OR"), t.Is("LOW_PRIORITY"), t.Is("HIGH_PRIORITY"), t.Is("DELAYED"), t.Is("ABORT"), t.Is("FAIL"), t.Is("ROLLBACK"):
		default: // MySQL needs no INTO
			return w.rest(tokens, at)
		}
	}
	return w.rest(tokens, at+1)
}

// rest reads the table's name and what follows.
func (w write) rest(tokens []sqltext.Token, at int) (write, bool) {
	if at >= len(tokens) || !tokens[at].IsName() {
		return w, false
	}
	w.table = tokens[at].Text
	for ; at+2 < len(tokens) && tokens[at+1].Is(".") && tokens[at+2].IsName(); at += 2 {
		w.table += "." + tokens[at+2].Text
	}
	depth := 0
	for i := at; i < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.Is("("):
			depth++
		case t.Is(")"):
			if depth--; depth < 0 { // the end of a common table expression
				return w, true
			}
		case depth == 0 && follows(tokens, i, "ON", "DUPLICATE", "KEY"):
			w.onDuplicate = true
		case depth == 0 && follows(tokens, i, "ON", "CONFLICT"):
			w.conflict(tokens[i+2:])
		}
	}
	return w, true
}

// conflict reads the tokens between ON CONFLICT and DO.
func (w *write) conflict(tokens []sqltext.Token) {
	if follows(tokens, 0, "ON", "CONSTRAINT") && len(tokens) > 2 {
		w.constraint = tokens[2].Text
		return
	}
	if len(tokens) == 0 || !tokens[0].Is("(") {
		return
	}
	end := sqltext.Closing(tokens, 0)
	if end < 0 {
		return
	}
	w.target = true
	for _, part := range sqltext.Split(tokens[1:end], ",") {
		w.parts = append(w.parts, spell(part))
	}
	do := slices.IndexFunc(tokens, func(t sqltext.Token) bool { return t.Is("DO") })
	if do > end+1 && tokens[end+1].Is("WHERE") {
		w.whereSaid = true
		w.where = spell(tokens[end+2 : do])
	}
}

// follows reports whether keywords occur at a place.
func follows(tokens []sqltext.Token, at int, words ...string) bool {
	if at+len(words) > len(tokens) {
		return false
	}
	for i, word := range words {
		if !tokens[at+i].Is(word) {
			return false
		}
	}
	return true
}

// spell writes tokens with one space between them, names and texts in quotes as
// both PostgreSQL and SQLite read them.
func spell(tokens []sqltext.Token) string {
	words := make([]string, len(tokens))
	for i, t := range tokens {
		switch t.Kind {
		case sqltext.Name:
			words[i] = dialect.SQLite.Quote(t.Text)
		case sqltext.String:
			words[i] = "'" + strings.ReplaceAll(t.Text, "'", "''") + "'"
		case sqltext.Word, sqltext.Number, sqltext.Symbol, sqltext.End:
			words[i] = t.Text
		}
	}
	return strings.Join(words, " ")
}

// write judges a statement by the rules of its table.
func (v *verifier) write(w *write) {
	table, ok := v.schema.Table(w.table)
	if !ok {
		return
	}
	i := slices.IndexFunc(v.checks, func(c *check) bool { return c.table == table })
	if i < 0 {
		return // no rule is about it
	}
	c := v.checks[i]
	if w.ignore {
		c.addSQL(w, c.rule, codeSQLInsertIgnore, "", c.reuse(), "the statement ignores conflicts on %s, and every other error too", w.table)
	}
	if w.replace {
		c.addSQL(w, c.rule, codeSQLReplace, "", c.reuse(), "the statement replaces rows of %s: it deletes the one that is there, and what refers to it", w.table)
	}
	if w.onDuplicate {
		c.onDuplicate(w)
	}
	if w.target {
		c.target(w)
	}
}

// reuse says how the dialect creates a row or leaves the one that is there.
func (c *check) reuse() string {
	if c.schema.Dialect == dialect.MySQL {
		return "write ON DUPLICATE KEY UPDATE, or use dbguard.CreateOrReuse"
	}
	return "write ON CONFLICT (" + c.terms() + ") DO …, or use dbguard.CreateOrReuse"
}

func (c *check) addSQL(w *write, rule *rules.Unique, code Code, index, fix, format string, args ...any) {
	f := c.verifier.add(rule, code, index, fix, format, args...)
	f.File, f.Line = w.file, w.line
}

// onDuplicate reports a statement that may change the row of another key.
func (c *check) onDuplicate(w *write) {
	var keys []string
	for _, s := range c.shapes {
		if !s.index.Unique || len(s.parts) == 0 {
			continue
		}
		column, ok := c.table.Column(s.parts[0].Column)
		if len(s.parts) == 1 && ok && column.Minted && wholeNumber(column.Base) {
			continue // it is never sent
		}
		keys = append(keys, s.index.Name)
	}
	if len(keys) > 1 {
		c.addSQL(w, c.rule, codeSQLDuplicateKey, "", "insert, and handle the conflict by its index, or use dbguard.Upsert",
			"ON DUPLICATE KEY UPDATE fires on any of %s, and then changes the row that has that one", strings.Join(keys, ", "))
	}
}

// target reports ON CONFLICT (…) that no unique index answers to.
func (c *check) target(w *write) {
	d := c.schema.Dialect
	var partial *shape
	for i := range c.shapes {
		s := &c.shapes[i]
		if !s.index.Unique || !s.index.Valid || s.index.Exclusion || s.index.Deferrable || !c.isTarget(s, w.parts) {
			continue
		}
		if s.index.Where == "" || w.whereSaid && sameWhere(d, s, w.where) {
			return
		}
		partial = s
	}
	rule := c.ruleFor(w)
	if partial != nil {
		where := partial.where.String()
		if !partial.whereOK {
			where = partial.index.Where
		}
		c.addSQL(w, rule, codeSQLConflictWhere, partial.index.Name, "write WHERE "+where+" after the columns",
			"ON CONFLICT (%s) does not say the predicate of the partial index %s", strings.Join(w.parts, ", "), partial.index.Name)
		return
	}
	c.addSQL(w, rule, codeSQLConflictTarget, "", "name the terms of the rule: "+c.terms(), "no unique index of %s is on (%s)", w.table, strings.Join(w.parts, ", "))
}

// sameWhere reports whether a statement says the predicate of an index.
func sameWhere(d dialect.Dialect, s *shape, where string) bool {
	said, ok := serversql.Predicate(d, where)
	if !ok || !s.whereOK {
		return serversql.Same(d, where, s.index.Where)
	}
	have, _ := serversql.Predicate(d, s.index.Where)
	for _, condition := range have { // it may say more
		if !slices.Contains(said, condition) {
			return false
		}
	}
	return true
}

// isTarget reports whether an index has exactly these parts.
func (c *check) isTarget(s *shape, parts []string) bool {
	left := slices.Clone(s.index.Parts)
	for _, text := range parts {
		i := slices.IndexFunc(left, func(p catalog.Part) bool { return c.isPart(p, text) })
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return len(left) == 0
}

func (c *check) isPart(p catalog.Part, text string) bool {
	have := expression.Column(p.Column)
	if p.Column == "" {
		var ok bool
		if have, ok = serversql.Expression(c.schema.Dialect, p.Expression); !ok {
			return serversql.Same(c.schema.Dialect, p.Expression, text)
		}
	}
	said, ok := serversql.Expression(c.schema.Dialect, text)
	return ok && c.same(said, have)
}

// ruleFor is the rule of the table that a statement is most likely about: the one
// whose columns it names, or else the first.
func (c *check) ruleFor(w *write) *rules.Unique {
	for _, other := range c.checks {
		if other.table == c.table && !slices.ContainsFunc(w.parts, func(text string) bool {
			e, ok := serversql.Expression(c.schema.Dialect, text)
			return !ok || !slices.ContainsFunc(other.wants, func(w want) bool { return sameNames(w.term.Columns, e.Columns()) })
		}) {
			return other.rule
		}
	}
	return c.rule
}
