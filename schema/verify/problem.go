package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/catalog"
	"github.com/semel-dev/semel/schema/internal/predicate"
)

// problem describes a defect of an index that has the terms of the rule.
type problem struct {
	code         Code
	message, fix string
}

// weight adds up how bad problems are, to find the index with the least.
func weight(problems []problem) int {
	sum := 0
	for _, p := range problems {
		if sum++; severe([]problem{p}) {
			sum += 100
		}
	}
	return sum
}

// severe reports whether the rule can be broken, or cannot be kept, with these
// problems. That ON CONFLICT cannot use an index does not weaken it.
func severe(problems []problem) bool {
	return slices.ContainsFunc(problems, func(p problem) bool {
		return p.code != codeCannotInfer && severityOf(p.code) == Error
	})
}

// problems judges an index that has the terms of the rule and no others.
func (c *check) problems(f *fit) []problem {
	x := f.shape.index
	name := shown(x)
	var found []problem
	add := func(code Code, fix, format string, args ...any) {
		found = append(found, problem{code, fmt.Sprintf(format, args...), fix})
	}
	if !x.Unique {
		add(codeNotUnique, plan, "%s has the terms of the rule and is not unique", name)
		return found // it is a plain index, and nothing else about it matters
	}
	switch lacking := c.lacking(f.shape); {
	case (!x.Valid || !x.Ready) && len(lacking) > 0:
		add(codePartitionsMissing, "create a unique index on each of them and run: ALTER INDEX "+x.Name+" ATTACH PARTITION …",
			"%s has no part on %s, and is not valid until it has", name, strings.Join(lacking, ", "))
	case !x.Valid || !x.Ready:
		add(codeInvalid, plan, "%s is invalid or not ready", name)
	}
	if x.Deferrable {
		add(codeDeferrable, "make the constraint NOT DEFERRABLE", "%s is deferrable, and duplicates can live until COMMIT", name)
	}
	if code, wrong := c.predicateProblem(f.shape); wrong {
		add(code, c.predicateFix(code), "%s counts rows %s, and the rule %s", name, counted(f.shape.where.String(), x.Where, f.shape.whereOK), counted(c.predicate.String(), "", true))
	}
	for _, p := range f.pairs {
		c.partProblems(f.shape, p, add)
	}
	if c.rule.OnConflict != rules.Reject && !x.Deferrable && !c.inferable(f.shape) {
		add(codeCannotInfer, "enforce it by a unique index on the terms of the rule", "%s cannot be named by ON CONFLICT with the terms of the rule", name)
	}
	if !c.recognised(f.shape) {
		add(codeIndexName, "write index: "+x.Name+" into the rule, or rename the index", "the index that keeps the rule is called %s, and not %s", name, c.rule.Index)
	}
	if x.Ignored {
		add(codeIgnored, "make it visible again", "%s is ignored by queries, as before it is dropped", name)
	}
	return found
}

// partProblems judges one part.
func (c *check) partProblems(s *shape, p pair, add func(code Code, fix, format string, args ...any)) {
	name, text := shown(s.index), p.want.term.Text
	if p.part.Prefix > 0 {
		add(codePrefix, plan, "%s looks at the first %d of %s only", name, p.part.Prefix, text)
	}
	folds := foldsCase(p.want.term.Expr)
	switch column := p.want.term.Column; {
	case p.want.term.Expr.IsCollated():
		if own, ok := c.table.Column(column); ok && own.Folding != p.part.Folding {
			code, compares := codeCollationExact, "more exactly than"
			if p.part.Loose {
				code, compares = codeCollationLoose, "otherwise than"
			}
			add(code, plan, "%s compares %s %s the column", name, column, compares)
		}
	case !p.part.Loose || folds && !p.part.IgnoresAccents || !p.want.term.Expr.MayBeText():
	case column != "" && c.uuid(column):
		add(codeUUIDText, "use a UUID or binary type, or an exact collation", "%s holds UUIDs as text, and its collation is loose", column)
	case folds:
		add(codeCollationLoose, plan, "%s ignores accents in %s, and the rule ignores case only", name, text)
	default:
		fix := plan
		if own, ok := c.table.Column(column); ok && own.Folding == p.part.Folding {
			fix += ", or write collated(" + text + ") if that is meant"
		}
		add(codeCollationLoose, fix, "%s takes values of %s for equal that differ in %s", name, text, looseIn(p.part.Part))
	}
	switch {
	case !p.want.nullable:
	case c.rule.Nulls == rules.NullsSame && !s.index.NullsNotDistinct && !p.part.expr.NeverNull():
		add(codeNullsDistinct, plan, "rows with NULL in %s are the same by the rule, and %s lets them in", text, name)
	case c.rule.Nulls == rules.NullsDistinct && s.index.NullsNotDistinct:
		add(codeNullsSame, plan, "rows with NULL in %s are not the same by the rule, and %s refuses them", text, name)
	}
}

func looseIn(p catalog.Part) string {
	switch {
	case p.IgnoresCase && p.IgnoresAccents:
		return "case and accents"
	case p.IgnoresCase:
		return "case"
	case p.IgnoresAccents:
		return "accents"
	}
	return "how letters are composed"
}

func counted(predicate, words string, ok bool) string {
	switch {
	case !ok:
		return "where " + words
	case predicate == "":
		return "of all kinds"
	}
	return "where " + predicate
}

func (c *check) predicateFix(code Code) string {
	if code == codePredicateUnknown {
		return "compare them by eye"
	}
	return plan + ", or correct except in the rule"
}

// inferable reports whether ON CONFLICT finds the index by the terms of the
// rule. MySQL has no such clause: there every unique index takes part.
func (c *check) inferable(s *shape) bool {
	if c.schema.Dialect == dialect.MySQL {
		return true
	}
	return !s.index.Exclusion && !slices.ContainsFunc(s.parts, func(p part) bool { return p.generated != "" })
}

// lacking are the partitions on which an index of the root has no part.
func (c *check) lacking(s *shape) []string {
	if c.table.Kind != catalog.Partitioned || c.schema.Dialect != dialect.PostgreSQL {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.table.Partitions), func(leaf string) bool {
		table, ok := c.schema.Table(leaf)
		return !ok || slices.ContainsFunc(table.Indexes, func(x catalog.Index) bool { return x.Root == s.index.Name })
	})
}

// partitionsOnly reports indexes that partitions have and the root has not.
func (c *check) partitionsOnly() bool {
	if c.table.Kind != catalog.Partitioned {
		return false
	}
	var with, without []string
	for _, leaf := range c.table.Partitions {
		table, ok := c.schema.Table(leaf)
		if !ok {
			continue
		}
		kept := slices.ContainsFunc(c.shapesOf(table), func(s shape) bool {
			return s.index.Unique && s.index.Root == "" && c.fit(&s).kind == fitSame
		})
		if kept {
			with = append(with, leaf)
		} else {
			without = append(without, leaf)
		}
	}
	if len(with) == 0 {
		return false
	}
	also := "a new partition would have none"
	if len(without) > 0 {
		also = strings.Join(without, ", ") + " has none"
	}
	c.add(codeOnlyPartitions, "", plan, "%s has a unique index of its own, %s has none, and %s", strings.Join(with, ", "), c.rule.Table, also)
	return true
}

// maxNullable is up to how many columns that can be NULL several partial indexes
// are put together for: there is one for each subset.
const maxNullable = 4

// keptBySeveral reports whether partial indexes together make NULL the same as
// NULL: for each set of columns that can be NULL, one on the other terms, of the
// rows with NULL in just those.
func (c *check) keptBySeveral() bool {
	var nullable []want
	for _, w := range c.wants {
		if w.nullable {
			nullable = append(nullable, w)
		}
	}
	if c.rule.Nulls != rules.NullsSame || len(nullable) == 0 || len(nullable) > maxNullable {
		return false
	}
	if slices.ContainsFunc(nullable, func(w want) bool { return w.term.Column == "" }) {
		return false
	}
	for set := range 1 << len(nullable) {
		var gone []string
		for i, w := range nullable {
			if set>>i&1 == 1 {
				gone = append(gone, w.term.Column)
			}
		}
		if !slices.ContainsFunc(c.shapes, func(s shape) bool { return c.keepsWithout(&s, gone) }) {
			return false
		}
	}
	return true
}

// keepsWithout reports whether an index keeps the rule for the rows with NULL in
// these columns and in no others.
func (c *check) keepsWithout(s *shape, gone []string) bool {
	x := s.index
	if !x.Unique || !x.Valid || !x.Ready || x.Deferrable || !s.whereOK {
		return false
	}
	is := func(name string) func(string) bool {
		return func(other string) bool { return strings.EqualFold(name, other) }
	}
	some := &check{verifier: c.verifier, rule: c.rule, table: c.table, types: c.types}
	wanted := slices.Clone(c.predicate)
	for _, w := range c.wants {
		if slices.ContainsFunc(gone, is(w.term.Column)) {
			wanted = append(wanted, expression.Condition{Column: w.term.Column, Test: expression.Null})
			continue
		}
		some.wants = append(some.wants, w)
	}
	f := some.fit(s)
	loose := slices.ContainsFunc(f.pairs, func(p pair) bool {
		return p.part.Loose && !p.want.term.Expr.IsCollated() || p.part.Prefix > 0
	})
	where := slices.DeleteFunc(slices.Clone(s.where), func(condition expression.Condition) bool {
		return condition.Test == expression.NotNull && slices.ContainsFunc(some.wants, func(w want) bool { return is(w.term.Column)(condition.Column) })
	})
	return f.kind == fitSame && !loose && predicate.Same(c.schema.Dialect, where, wanted, c.types)
}
