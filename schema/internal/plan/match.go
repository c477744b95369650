package plan

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/catalog"
	"github.com/semel-dev/semel/schema/internal/predicate"
	"github.com/semel-dev/semel/schema/internal/serversql"
)

// enforced reports whether an index of the table enforces the rule already,
// whatever its name.
func (s *shape) enforced() bool {
	return slices.ContainsFunc(s.table.Indexes, func(x catalog.Index) bool { return s.enforcedBy(&x) })
}

// enforcedBy reports whether the index refuses exactly what the rule forbids.
func (s *shape) enforcedBy(x *catalog.Index) bool {
	if !x.Unique || !x.Valid || !x.Ready || x.Deferrable || len(s.table.Children) > 0 {
		return false
	}
	found, ok := s.read(x)
	if !ok || !predicate.Same(s.dialect, found.predicate, s.predicate, s.types) || !s.sameNulls(x) {
		return false
	}
	if len(found.parts) != len(s.keyParts()) {
		return false
	}
	for _, want := range s.keyParts() {
		if !slices.ContainsFunc(found.parts, func(p readPart) bool { return s.samePart(p, want) }) {
			return false
		}
	}
	return true
}

// sameNulls reports whether the index and the rule agree on rows with NULL, as
// they do where nothing can be NULL.
func (s *shape) sameNulls(x *catalog.Index) bool {
	if s.dialect != dialect.PostgreSQL || x.NullsNotDistinct == s.nullsSame {
		return true
	}
	return !slices.ContainsFunc(s.keyParts(), func(p part) bool { return p.nullable })
}

// keyParts returns the parts without the one that represents the predicate.
func (s *shape) keyParts() []part {
	return slices.DeleteFunc(slices.Clone(s.parts), func(p part) bool { return p.live })
}

// index describes an index of the catalogue.
type index struct {
	parts     []readPart
	predicate expression.Predicate
}

// readPart is one part of an index of the catalogue.
type readPart struct {
	expr expression.Expr
	raw  string // the SQL that the language cannot express
	catalog.Folding
}

// read turns an index of the catalogue into the language of rules.
func (s *shape) read(x *catalog.Index) (index, bool) {
	var found index
	where, ok := serversql.Predicate(s.dialect, x.Where)
	if !ok {
		return found, false
	}
	found.predicate = where
	for _, p := range x.Parts {
		if p.Prefix > 0 {
			return found, false
		}
		expr, text, counted := expression.Column(p.Column), "", expression.Predicate(nil)
		if !s.names(p.Column) {
			expr, text, counted = s.table.Compared(s.dialect, &p)
		}
		found.predicate = append(found.predicate, counted...)
		if expr.IsZero() && counted != nil {
			continue
		}
		found.parts = append(found.parts, readPart{expr: expr, raw: text, Folding: p.Folding})
	}
	return found, true
}

// names reports whether a term of the rule is this column. One that is generated is compared as a column then.
func (s *shape) names(column string) bool {
	return slices.ContainsFunc(s.rule.Terms(), func(t rules.Term) bool { return t.Column != "" && strings.EqualFold(t.Column, column) })
}

// samePart reports whether a part of an index is one of the shape.
func (s *shape) samePart(found readPart, want part) bool {
	switch {
	case want.raw != "":
		return found.raw != "" && serversql.Same(s.dialect, found.raw, want.raw)
	case found.expr.IsZero():
		return false
	}
	if want.expr.IsCollated() {
		own, ok := s.table.Column(want.expr.Columns()[0])
		return ok && own.Folding == found.Folding && expression.Same(s.dialect, found.expr, want.expr, s.types)
	}
	if !found.Loose || !want.expr.MayBeText() {
		return expression.Same(s.dialect, found.expr, want.expr, s.types)
	}
	folds := slices.ContainsFunc(want.expr.Functions(), func(name string) bool { return name == "lower" || name == "upper" })
	onlyCase := found.IgnoresCase && !found.IgnoresAccents
	return folds && onlyCase && expression.Same(s.dialect, found.expr.Caseless(), want.expr.Caseless(), s.types)
}
