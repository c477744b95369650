package draft

import (
	"regexp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/schema/catalog"
)

// maxCandidates bounds the columns of a table that are listed as looking unique.
const maxCandidates = 5

// looksUnique matches columns that people believe to be unique.
var looksUnique = regexp.MustCompile(
	`^(e_?mail|username|user_name|login|slug|handle|sku|isbn|ean|gtin|vat_number|code|number|no|reference|ref|uuid|guid)$` +
		`|_(number|no|code|slug|reference|email|uuid|guid)$|(^|_)external_id$|_key$`)

// candidates guesses rules for columns that look unique and that no unique index
// covers.
func (s *sketch) candidates(t *catalog.Table) {
	var scope []term
	for i := range t.Columns {
		if name := t.Columns[i].Name; isScope(name) {
			scope = append(scope, columnTerm(t, name))
		}
	}
	found := 0
	for i := range t.Columns {
		c := &t.Columns[i]
		name := strings.ToLower(c.Name)
		if !looksUnique.MatchString(name) || c.Minted || c.Generated != "" || c.References != "" || isScope(c.Name) || covered(t, c.Name) {
			continue
		}
		if found++; found > maxCandidates {
			return
		}
		field := columnTerm(t, c.Name)
		r := rule{table: t.Path(), terms: append(slices.Clone(scope), field)}
		r.divide(t)
		if slices.ContainsFunc(r.terms, func(one term) bool { return one.nullable }) {
			r.nulls = "distinct"
		}
		if gone, there := t.Column("deleted_at"); there && gone.Nullable {
			r.except = []string{"deleted_at is set"}
		}
		r.name = s.freeName("", t.Name, []term{field})
		s.add(entry{name: r.name, lines: r.lines(), guess: true, notes: []string{
			"Nothing enforces this yet: " + c.Name + " looks unique. Remove the rule if two rows may share one.",
		}})
	}
}

// covered reports whether a unique index looks at the column.
func covered(t *catalog.Table, name string) bool {
	return slices.ContainsFunc(t.Indexes, func(x catalog.Index) bool {
		return x.Unique && slices.ContainsFunc(x.Parts, func(p catalog.Part) bool {
			generated, _ := t.Column(p.Column)
			return p.Column == name || slices.Contains(mentioned(t, p.Expression), name) ||
				generated != nil && slices.Contains(mentioned(t, generated.Generated), name)
		})
	})
}
