package rules

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
	"github.com/semel-dev/semel/internal/rules/yamlfile"
)

// ruleContradictions reports settings of one rule that cannot hold together.
func (r *reader) ruleContradictions(u *Unique, found yamlfile.Present) {
	r.repeatedTerms(u)
	if found.Has("nulls") && u.Nulls == NullsDistinct && u.OnConflict != Reject {
		r.Report(found["nulls"], "write nulls: forbidden, or nulls: same",
			"on_conflict: %s never finds a row with NULL when nulls are distinct, so a repetition would create another", u.OnConflict)
	}
	if u.OnConflict == Upsert && !found.Has("may_change") {
		r.Report(found["on_conflict"], "add may_change: the columns that a repetition may change; or write return_existing", "on_conflict: upsert has no may_change")
	}
	for _, name := range []string{"may_change", "must_not_change"} {
		if at, ok := found[name]; ok && u.OnConflict != Upsert {
			r.Report(at, "remove it, or write on_conflict: upsert", "%s says nothing with on_conflict: %s", name, u.OnConflict)
		}
	}
	for _, column := range u.MayChange {
		if slices.Contains(u.MustNotChange, column) {
			r.Report(found["must_not_change"], "keep it in one of the two", "%q is in may_change and in must_not_change", yamlfile.Cut(column))
		}
	}
	for _, t := range u.Terms() {
		if t.Column != "" && slices.Contains(u.MayChange, t.Column) {
			r.Report(found["may_change"], "remove it: a row with another value is another thing", "may_change lets %q change, by which the rule tells rows apart", yamlfile.Cut(t.Column))
		}
		if t.Column != "" && slices.Contains(u.MustNotChange, t.Column) {
			r.Report(found["must_not_change"], "remove it", "must_not_change says nothing of %q, by which the row is found", yamlfile.Cut(t.Column))
		}
	}
}

// repeatedTerms reports terms that a rule has twice.
func (r *reader) repeatedTerms(u *Unique) {
	terms := u.Terms()
	for i, t := range terms {
		if slices.ContainsFunc(terms[:i], func(o Term) bool { return sameTerm(o, t) }) {
			r.Report(t.At, "remove one of the two", "%q is listed twice in scope and fields", yamlfile.Cut(t.Text))
		}
	}
}

// sameTerm reports whether two terms say the same in every database.
func sameTerm(a, b Term) bool {
	if a.Raw != nil || b.Raw != nil {
		return a.Raw != nil && b.Raw != nil && !slices.ContainsFunc(dialect.All(), func(d dialect.Dialect) bool {
			return a.Raw[d] != b.Raw[d]
		})
	}
	return expression.Same(dialect.PostgreSQL, a.Expr, b.Expr, nil)
}

// collisions reports rules that share a name, or an index of a table.
func (r *reader) collisions(rules []Unique) {
	type index struct{ table, name string } // MySQL has a PRIMARY in every table
	names, indexes := map[string]Position{}, map[index]Position{}
	for _, u := range rules {
		if first, taken := names[u.Name]; taken && u.Name != "" {
			r.Report(u.At, "choose another name", "rule %q is defined twice, first on line %d", u.Name, first.Line)
			continue
		}
		names[u.Name] = u.At
		key := index{strings.ToLower(u.Table), strings.ToLower(u.Index)}
		if first, taken := indexes[key]; taken && u.Index != "" {
			r.Report(u.At, "give each rule an index of its own, by which a conflict is known", "index %q belongs to the rule on line %d already", yamlfile.Cut(u.Index), first.Line)
			continue
		}
		indexes[key] = u.At
	}
}

// disagreements reports rules about one table of which one makes the other
// impossible.
func (r *reader) disagreements(rules []Unique) {
	byTable := map[string][]*Unique{}
	for i := range rules {
		if u := &rules[i]; u.Table != "" && len(u.Fields) > 0 {
			key := strings.ToLower(u.Table)
			byTable[key] = append(byTable[key], u)
		}
	}
	for _, same := range byTable {
		for i, later := range same {
			for _, earlier := range same[:i] {
				r.disagreement(earlier, later)
			}
		}
	}
}

func (r *reader) disagreement(earlier, later *Unique) {
	up, down := earlier.implies(later), later.implies(earlier)
	switch {
	case up && down && earlier.OnConflict == later.OnConflict:
		r.Report(later.At, "remove one of the two", "rule %q says what rule %q on line %d says", later.Name, earlier.Name, earlier.At.Line)
	case up && down:
		r.Report(later.At, "remove one of the two", "rule %q says %s of the same rows of which rule %q on line %d says %s",
			later.Name, later.OnConflict, earlier.Name, earlier.At.Line, earlier.OnConflict)
	case up && earlier.OnConflict != later.OnConflict:
		r.hidden(later, later, earlier)
	case down && earlier.OnConflict != later.OnConflict:
		r.hidden(later, earlier, later)
	}
}

// hidden reports a rule that can say nothing, as a stricter one speaks first.
func (r *reader) hidden(at, loose, strict *Unique) {
	r.Report(at.At, "say the same on_conflict in both, or remove one",
		"rule %q on line %d says %s, but two rows that it is about break rule %q on line %d too, which says %s",
		loose.Name, loose.At.Line, loose.OnConflict, strict.Name, strict.At.Line, strict.OnConflict)
}

// implies reports whether two rows that break the other rule break this one too.
func (u *Unique) implies(other *Unique) bool {
	terms := other.Terms()
	within := !slices.ContainsFunc(u.Terms(), func(t Term) bool {
		return !slices.ContainsFunc(terms, func(o Term) bool { return sameTerm(o, t) })
	})
	counts := other.Predicate()
	rows := !slices.ContainsFunc(u.Predicate(), func(c expression.Condition) bool { return !slices.Contains(counts, c) })
	return within && rows && (u.Nulls != NullsDistinct || other.Nulls != NullsSame)
}
