package rules

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/semel-dev/semel/internal/rules/yamlfile"
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
	nodes := r.Sequence(n, "unique")
	if len(nodes) > maxUnique {
		r.Report(yamlfile.At(n), "split the file", "unique has %d elements, more than %d", len(nodes), maxUnique)
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
	u := Unique{At: yamlfile.At(n)}
	var labels, show, messages ast.Node
	found := r.Mapping(n, "a uniqueness rule", []yamlfile.Field{
		{"name", func(n ast.Node) { u.Name = r.ruleName(n) }},
		{"says", func(n ast.Node) { u.Says = r.sentence(n, "says", maxSaysRunes) }},
		{"table", func(n ast.Node) { u.Table = r.table(n) }},
		{"scope", func(n ast.Node) { u.Scope = r.uniqueScope(n) }},
		{"fields", func(n ast.Node) { u.Fields = r.terms(n, "fields") }},
		{"nulls", func(n ast.Node) { u.Nulls = Nulls(r.Choice(n, "nulls", nullsWords()...)) }},                        //nolint:gosec // an index of three words.
		{"on_conflict", func(n ast.Node) { u.OnConflict = Conflict(r.Choice(n, "on_conflict", conflictWords()...)) }}, //nolint:gosec // an index of three words.
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
	u.NullsUnsaid = !found.Has("nulls")
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
	name, ok := r.Text(n, "name")
	if ok && !ruleName.MatchString(name) {
		fix := "write lower case letters, digits and underscores, a letter first, at most 63"
		if lower := strings.ToLower(strings.Map(wordRune, name)); ruleName.MatchString(lower) {
			fix = fmt.Sprintf("write %q", lower)
		}
		r.Report(yamlfile.At(n), fix, "name %q is not a name that problems and an index can carry", yamlfile.Cut(name))
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
	s, ok := r.Text(n, what)
	if !ok {
		return ""
	}
	s = strings.TrimSpace(s)
	switch runes := len([]rune(s)); {
	case s == "":
		r.Report(yamlfile.At(n), "write a sentence that a person understands", "%s is empty", what)
	case runes > most:
		r.Report(yamlfile.At(n), "shorten it", "%s has %d letters, more than %d", what, runes, most)
	case strings.ContainsFunc(s, isHidden):
		r.Report(yamlfile.At(n), "write it with visible characters, on one line", "%s holds control characters", what)
	default:
		return s
	}
	return ""
}

func (r *reader) table(n ast.Node) string {
	return r.Word(n, "table", tableName.MatchString, "write the table's name without quotes, such as invoices or billing.invoices", "table %q is not a name of a table")
}

// index reads the name of the index.
func (r *reader) index(n ast.Node) string {
	return r.Word(n, "index", indexName.MatchString, "write letters, digits and underscores, at most 63, without the schema", "index %q is not a name of an index")
}

// columns reads names of columns.
func (r *reader) columns(n ast.Node, what string) []string {
	names := r.Texts(n, what)
	if len(names) > maxColumns {
		r.Report(yamlfile.At(n), "shorten it", "%s has %d columns, more than %d", what, len(names), maxColumns)
		return nil
	}
	for _, name := range names {
		if len(name) > 64 || strings.ContainsFunc(name, isHidden) || strings.ContainsAny(name, "()'\"`;") {
			r.Report(yamlfile.At(n), "write bare names of columns of the table", "%q in %s is not a name of a column", yamlfile.Cut(name), what)
		}
	}
	return names
}

// ruleComplete reports what a rule lacks.
func (r *reader) ruleComplete(u *Unique, found yamlfile.Present) {
	for _, need := range []struct{ name, fix string }{
		{"name", "add a name that problems and logs can carry, such as name: invoice_number"},
		{"says", "add the rule as a sentence, such as says: One invoice number per tenant per year."},
		{"table", "add the table, such as table: invoices"},
		{"scope", "add within what it holds, such as scope: [tenant_id], or scope: global for the whole table"},
		{"fields", "add what must not be the same twice, such as fields: [number, year(issued_on)]"},
	} {
		if !found.Has(need.name) {
			what := "a uniqueness rule"
			if u.Name != "" {
				what = fmt.Sprintf("rule %q", u.Name)
			}
			r.Report(u.At, need.fix, "%s has no %s", what, need.name)
		}
	}
}
