package verify

import (
	"cmp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/catalog"
)

const plan = "run: semel rules plan"

// compare finds the index that keeps the rule and says what is wrong with it.
func (c *check) compare() {
	fits := make([]fit, len(c.shapes))
	for i := range c.shapes {
		fits[i] = c.fit(&c.shapes[i])
	}
	whole := slices.DeleteFunc(slices.Clone(fits), func(f fit) bool { return f.kind != fitSame })
	if len(whole) > 0 {
		c.whole(whole)
	} else {
		c.nearest(fits)
	}
	if c.enforcedBy == nil {
		return
	}
	for i := range fits { // another index may refuse more
		f := &fits[i]
		switch {
		case f.shape == c.enforcedBy || !c.refuses(f):
		case f.kind == fitWider:
			c.wider(f, dropIt)
		case c.enforced:
			c.stricter(f)
		}
	}
}

const dropIt = "drop it, or add a rule for it"

// stricter reports an index on terms of the rule, or on expressions of them,
// that refuses more than the index of the rule.
func (c *check) stricter(f *fit) {
	name := f.shape.index.Name
	switch {
	case f.kind == fitSame:
		for _, p := range c.problems(f) {
			if slices.Contains([]Code{codePredicateMissing, codeNullsSame, codeCollationLoose, codePrefix}, p.code) {
				c.add(p.code, name, dropIt, "%s", p.message)
			}
		}
	case f.kind == fitExpression && !slices.ContainsFunc(f.missing, func(w want) bool { return w.term.Column == "" }):
		c.add(codeExpressionDiffers, name, dropIt, "%s is on (%s), and refuses rows that the rule allows", shown(f.shape.index), f.shape.list())
	}
}

// whole judges indexes with exactly the terms of the rule. The best one counts.
func (c *check) whole(fits []fit) {
	problems := make([][]problem, len(fits))
	best := 0
	for i := range fits {
		problems[i] = c.problems(&fits[i])
		order := cmp.Or(cmp.Compare(weight(problems[i]), weight(problems[best])), cmp.Compare(c.strange(fits[i].shape.index), c.strange(fits[best].shape.index)))
		if order < 0 {
			best = i
		}
	}
	s := fits[best].shape
	if severe(problems[best]) && c.keptBySeveral() {
		c.enforced = true
		if c.rule.OnConflict != rules.Reject {
			c.add(codeCannotInfer, "", "keep NULL out of the columns, or let the rule say on_conflict: reject", "several partial indexes keep the rule together, and ON CONFLICT names one only")
		}
		return
	}
	c.enforcedBy = s
	for _, p := range problems[best] {
		c.add(p.code, s.index.Name, p.fix, "%s", p.message)
	}
	c.enforced = !severe(problems[best])
	for i := range fits {
		if i != best && c.enforced && !severe(problems[i]) {
			other := fits[i].shape.index
			c.add(codeRedundant, other.Name, "drop one of them", "%s enforces the same as %s", shown(other), shown(s.index))
		}
	}
}

// strange is 0 for an index with the name that the rule expects, else 1.
func (c *check) strange(x *catalog.Index) int {
	if strings.EqualFold(x.Name, c.rule.Index) {
		return 0
	}
	return 1
}

// shown is an index's name for people.
func shown(x *catalog.Index) string {
	if x.Name == "" {
		return "the primary key"
	}
	return x.Name
}

// nearest reports the index that was likely meant for the rule, when none has
// its terms: the one with the expected name, or the one that is most like it.
func (c *check) nearest(fits []fit) {
	if c.keptBySeveral() {
		c.enforced = true
		return
	}
	candidates := slices.DeleteFunc(slices.Clone(fits), func(f fit) bool {
		named := c.strange(f.shape.index) == 0
		return !f.shape.index.Unique || !named && (f.kind == fitOther && !f.shares())
	})
	slices.SortStableFunc(candidates, func(a, b fit) int {
		return cmp.Or(cmp.Compare(c.strange(a.shape.index), c.strange(b.shape.index)), cmp.Compare(a.kind, b.kind))
	})
	if c.partitionsOnly() {
		return
	}
	if len(candidates) == 0 {
		c.add(codeMissingIndex, "", plan, "no unique index of %s has %s", c.rule.Table, c.terms())
		return
	}
	f := &candidates[0]
	switch f.kind {
	case fitWider:
		c.wider(f, plan+", then drop this one")
	case fitNarrower:
		c.narrower(f)
	case fitExpression:
		c.expression(f)
	case fitSame, fitOther:
		c.add(codeColumnsDiffer, f.shape.index.Name, plan, "%s is on (%s), and the rule on (%s)", shown(f.shape.index), f.shape.list(), c.terms())
	}
}

// shares reports whether an index has half of the terms of a rule, a field among
// them.
func (f *fit) shares() bool {
	return 2*len(f.pairs) >= len(f.pairs)+len(f.missing) && len(f.pairs) > 0 && len(f.pairs) >= len(f.extra)
}

func (c *check) wider(f *fit, fix string) {
	c.add(codeWider, f.shape.index.Name, fix, "%s is on (%s) without %s, and refuses rows that the rule allows",
		shown(f.shape.index), f.shape.list(), terms(f.missing))
}

func (c *check) narrower(f *fit) {
	extra := make([]string, len(f.extra))
	fix := plan
	for i, p := range f.extra {
		extra[i] = p.name()
		if c.table.Kind == catalog.Partitioned && slices.Contains(c.table.PartitionBy, p.Column) {
			fix = "add " + p.Column + " to the rule, which partitioning asks for, or keep the unique values in a table that is not partitioned"
		}
	}
	c.add(codeNarrower, f.shape.index.Name, fix, "%s has %s in addition to the terms of the rule, and lets the same in again with another %s",
		shown(f.shape.index), strings.Join(extra, ", "), extra[0])
}

func (c *check) expression(f *fit) {
	name := shown(f.shape.index)
	switch {
	case !understood(f.extra):
		c.add(codeExpressionUnknown, f.shape.index.Name, "compare them by eye, or write the expression in the words of the dialect into the rule",
			"%s is on (%s), which cannot be compared with (%s)", name, f.shape.list(), c.terms())
	case c.onlyCase(f):
		c.add(codeCollationExact, f.shape.index.Name, plan, "%s is on (%s) and takes notice of case, which (%s) does not", name, f.shape.list(), c.terms())
	default:
		c.add(codeExpressionDiffers, f.shape.index.Name, plan, "%s is on (%s), and the rule on (%s)", name, f.shape.list(), c.terms())
	}
}

// onlyCase reports whether the index lacks lower or upper and nothing else.
func (c *check) onlyCase(f *fit) bool {
	return !slices.ContainsFunc(f.missing, func(w want) bool {
		return !foldsCase(w.term.Expr) || !slices.ContainsFunc(f.extra, func(p part) bool {
			return !foldsCase(p.expr) && c.same(w.term.Expr.Caseless(), p.expr)
		})
	})
}

// refuses reports whether an index that lacks terms is in force, and is not what
// another rule asks for.
func (c *check) refuses(f *fit) bool {
	x := f.shape.index
	if !x.Unique || !x.Valid || !x.Ready || !f.shape.whereOK {
		return false
	}
	if _, differs := c.predicateProblem(f.shape); differs && len(f.shape.where) > 0 {
		return false
	}
	for i := range c.file.Unique {
		other := &check{verifier: c.verifier, rule: &c.file.Unique[i], table: c.table, types: c.types}
		table, ok := c.schema.Table(other.rule.Table)
		if other.rule == c.rule || !ok || table != c.table {
			continue
		}
		for _, term := range other.rule.Terms() {
			other.wants = append(other.wants, want{term: term, raw: term.Raw[c.schema.Dialect]})
		}
		if other.fit(f.shape).kind == fitSame {
			return false
		}
	}
	return true
}

// terms are the terms of the rule for people.
func (c *check) terms() string { return terms(c.wants) }

func terms(wants []want) string {
	return strings.Join(texts.Of(wants, func(w want) string { return w.term.Text }), ", ")
}

// list are the parts of an index for people.
func (s *shape) list() string {
	return strings.Join(texts.Of(s.parts, func(p part) string { return p.name() }), ", ")
}

func (p *part) name() string {
	switch {
	case !p.expr.IsZero():
		return p.expr.String()
	case p.text != "":
		return p.text
	}
	return p.Column
}

// sharedIndexes reports indexes that enforce two rules.
func (v *verifier) sharedIndexes() {
	owners := make(map[*catalog.Index]*rules.Unique)
	for _, c := range v.checks {
		if c.enforcedBy == nil {
			continue
		}
		if first, taken := owners[c.enforcedBy.index]; taken {
			c.add(codeSharedIndex, c.enforcedBy.index.Name, "remove one of the rules", "%s keeps rule %s as well, and a conflict cannot tell which was broken", shown(c.enforcedBy.index), first.Name)
			continue
		}
		owners[c.enforcedBy.index] = c.rule
	}
}

// recognised reports whether a driver's error names an index so that the rule is
// found: by its name, or in SQLite by its columns.
func (c *check) recognised(s *shape) bool {
	if c.strange(s.index) == 0 || strings.EqualFold(s.index.Constraint, c.rule.Index) {
		return true
	}
	return c.schema.Dialect == dialect.SQLite && !slices.ContainsFunc(s.parts, func(p part) bool { return p.Expression != "" })
}
