package rules

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Bounds of what a uniqueness rule may say.
const (
	maxTerms      = 16 // as many columns as an index of MySQL has
	maxExceptions = 16
	maxColumns    = 200
	maxSaysRunes  = 300
)

var (
	ruleName  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)
	indexName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_$]{0,62}$`)
	tableName = regexp.MustCompile(`^[^\s."'` + "`" + `;]{1,64}(\.[^\s."'` + "`" + `;]{1,64})?$`)
)

// uniques reads the uniqueness rules.
func (r *reader) uniques(n ast.Node) []Unique {
	nodes := r.sequence(n, "unique")
	if len(nodes) > maxUnique {
		r.report(position(n), "split the file", "unique has %d elements, more than %d", len(nodes), maxUnique)
		return nil
	}
	rules := make([]Unique, 0, len(nodes))
	for _, node := range nodes {
		rules = append(rules, r.unique(node))
	}
	r.collisions(rules)
	r.disagreements(rules)
	return rules
}

// unique reads one uniqueness rule. Texts for people are read last, because
// they name columns that may follow further down.
func (r *reader) unique(n ast.Node) Unique {
	u := Unique{At: position(n)}
	var labels, show, messages ast.Node
	found := r.mapping(n, "a uniqueness rule", []field{
		{"name", func(n ast.Node) { u.Name = r.ruleName(n) }},
		{"says", func(n ast.Node) { u.Says = r.sentence(n, "says", maxSaysRunes) }},
		{"table", func(n ast.Node) { u.Table = r.table(n) }},
		{"scope", func(n ast.Node) { u.Scope = r.uniqueScope(n) }},
		{"fields", func(n ast.Node) { u.Fields = r.terms(n, "fields") }},
		{"nulls", func(n ast.Node) { u.Nulls = Nulls(r.choice(n, "nulls", nullsWords()...)) }},                        //nolint:gosec // an index of three words.
		{"on_conflict", func(n ast.Node) { u.OnConflict = Conflict(r.choice(n, "on_conflict", conflictWords()...)) }}, //nolint:gosec // an index of three words.
		{"except", func(n ast.Node) { u.Except = r.exceptions(n) }},
		{"may_change", func(n ast.Node) { u.MayChange = r.columns(n, "may_change") }},
		{"must_not_change", func(n ast.Node) { u.MustNotChange = r.columns(n, "must_not_change") }},
		{"index", func(n ast.Node) { u.Index = r.index(n) }},
		{"labels", func(n ast.Node) { labels = n }},
		{"show", func(n ast.Node) { show = n }},
		{"messages", func(n ast.Node) { messages = n }},
	})
	if found == nil {
		return u
	}
	u.NullsUnsaid = !found.has("nulls")
	if u.NullsUnsaid && u.OnConflict != Reject {
		u.Nulls = NullsForbidden
	}
	if u.Index == "" {
		u.Index = u.Name
	}
	r.ruleComplete(&u, found)
	r.ruleContradictions(&u, found)
	r.told(&u, labels, show, messages)
	return u
}

// ruleName reads the name of a rule.
func (r *reader) ruleName(n ast.Node) string {
	name, ok := r.text(n, "name")
	if ok && !ruleName.MatchString(name) {
		fix := "write lower case letters, digits and underscores, a letter first, at most 63"
		if lower := strings.ToLower(strings.Map(wordRune, name)); ruleName.MatchString(lower) {
			fix = fmt.Sprintf("write %q", lower)
		}
		r.report(position(n), fix, "name %q is not a name that problems and an index can carry", cut(name))
		return ""
	}
	return name
}

// wordRune makes a rune one of a name.
func wordRune(c rune) rune {
	if c == ' ' || c == '-' || c == '.' {
		return '_'
	}
	return c
}

// sentence reads a text for people, without line breaks.
func (r *reader) sentence(n ast.Node, what string, most int) string {
	s, ok := r.text(n, what)
	if !ok {
		return ""
	}
	s = strings.TrimSpace(s)
	switch runes := len([]rune(s)); {
	case s == "":
		r.report(position(n), "write a sentence that a person understands", "%s is empty", what)
	case runes > most:
		r.report(position(n), "shorten it", "%s has %d letters, more than %d", what, runes, most)
	case strings.ContainsFunc(s, isHidden):
		r.report(position(n), "write it with visible characters, on one line", "%s holds control characters", what)
	default:
		return s
	}
	return ""
}

func (r *reader) table(n ast.Node) string {
	return r.word(n, "table", tableName.MatchString, "write the table's name without quotes, such as invoices or billing.invoices", "table %q is not a name of a table")
}

// index reads the name of the index.
func (r *reader) index(n ast.Node) string {
	return r.word(n, "index", indexName.MatchString, "write letters, digits and underscores, at most 63, without the schema", "index %q is not a name of an index")
}

// columns reads names of columns.
func (r *reader) columns(n ast.Node, what string) []string {
	names := r.texts(n, what)
	if len(names) > maxColumns {
		r.report(position(n), "shorten it", "%s has %d columns, more than %d", what, len(names), maxColumns)
		return nil
	}
	for _, name := range names {
		if len(name) > 64 || strings.ContainsFunc(name, isHidden) || strings.ContainsAny(name, "()'\"`;") {
			r.report(position(n), "write bare names of columns of the table", "%q in %s is not a name of a column", cut(name), what)
		}
	}
	return names
}

// ruleComplete reports what a rule lacks.
func (r *reader) ruleComplete(u *Unique, found present) {
	for _, need := range []struct{ name, fix string }{
		{"name", "add a name that problems and logs can carry, such as name: invoice_number"},
		{"says", "add the rule as a sentence, such as says: One invoice number per tenant per year."},
		{"table", "add the table, such as table: invoices"},
		{"scope", "add within what it holds, such as scope: [tenant_id], or scope: global for the whole table"},
		{"fields", "add what must not be the same twice, such as fields: [number, year(issued_on)]"},
	} {
		if !found.has(need.name) {
			what := "a uniqueness rule"
			if u.Name != "" {
				what = fmt.Sprintf("rule %q", u.Name)
			}
			r.report(u.At, need.fix, "%s has no %s", what, need.name)
		}
	}
}
