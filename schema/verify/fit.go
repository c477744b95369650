package verify

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/schema/internal/predicate"
)

// fit matches the parts of an index with the terms of a rule.
type fit struct {
	shape   *shape
	kind    fitKind
	missing []want
	extra   []part
	// pairs are the parts for the terms that the index has.
	pairs []pair
}

type pair struct {
	want want
	part part
}

// fitKind is a kind of fit; a smaller one is nearer to the rule.
type fitKind uint8

const (
	fitSame       fitKind = iota
	fitExpression         // the same columns, another expression
	fitNarrower           // all terms, and more
	fitWider              // some of the terms, and nothing else
	fitOther
)

// fit compares the parts of an index with the terms of the rule.
func (c *check) fit(s *shape) fit {
	f := fit{shape: s}
	left := slices.Clone(s.parts)
	for _, w := range c.wants {
		i := slices.IndexFunc(left, func(p part) bool { return c.has(w, p) })
		if i < 0 {
			f.missing = append(f.missing, w)
			continue
		}
		f.pairs = append(f.pairs, pair{w, left[i]})
		left = slices.Delete(left, i, i+1)
	}
	for _, p := range left {
		again := slices.ContainsFunc(f.pairs, func(known pair) bool { return c.has(known.want, p) })
		if !again && !c.companion(p) {
			f.extra = append(f.extra, p)
		}
	}
	switch {
	case len(f.missing) == 0 && len(f.extra) == 0:
		f.kind = fitSame
	case sameColumns(f.missing, f.extra):
		f.kind = fitExpression
	case len(f.missing) == 0:
		f.kind = fitNarrower
	case len(f.extra) == 0 && len(f.pairs) > 0:
		f.kind = fitWider
	default:
		f.kind = fitOther
	}
	return f
}

// sameColumns reports whether each missing term has a part on the same columns,
// or one that cannot be read.
func sameColumns(missing []want, extra []part) bool {
	if len(missing) != len(extra) {
		return false
	}
	left := slices.Clone(extra)
	for _, w := range missing {
		i := slices.IndexFunc(left, func(p part) bool {
			if p.expr.IsZero() {
				return reads(p.text, w.term.Columns)
			}
			return sameNames(p.columns(), w.term.Columns)
		})
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return true
}

// reads reports whether a text that is not understood has all the names.
func reads(text string, columns []string) bool {
	return !slices.ContainsFunc(columns, func(name string) bool {
		return !strings.Contains(strings.ToLower(text), strings.ToLower(name))
	})
}

func sameNames(a, b []string) bool {
	fold := func(names []string) []string {
		folded := texts.Of(names, strings.ToLower)
		slices.Sort(folded)
		return slices.Compact(folded)
	}
	return slices.Equal(fold(a), fold(b))
}

// understood reports whether all parts of an index can be read.
func understood(parts []part) bool {
	return !slices.ContainsFunc(parts, func(p part) bool { return p.expr.IsZero() })
}

// predicateProblem says how the rows that an index counts differ from those of
// the rule.
func (c *check) predicateProblem(s *shape) (Code, bool) {
	switch {
	case !s.whereOK:
		return codePredicateUnknown, true
	case predicate.Same(c.schema.Dialect, s.where, c.predicate, c.types):
		return "", false
	case len(s.where) == 0:
		return codePredicateMissing, true
	case len(c.predicate) == 0:
		return codePredicateExtra, true
	}
	return codePredicateDiffers, true
}
