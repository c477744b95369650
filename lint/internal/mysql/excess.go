package mysql

import "strings"

// What the parser follows by recursion, or in more than linear time.
const (
	maxNesting   = 200  // brackets, prefix operators and CASEs within each other
	maxIntervals = 6    // INTERVAL ( within each other, each of which is tried twice
	maxOperators = 5000 // in one expression
	maxJoins     = 500  // joins and set operations
)

// load counts what makes a statement hard to parse.
type load struct {
	open      []bool // brackets: whether INTERVAL was before
	operators []int  // by bracket
	cases     int
	prefixes  int
	intervals int
	joins     int
	last      string
}

// excessive returns why a statement is too much for the parser; nothing if it is not.
func (s *source) excessive() string {
	l := load{operators: []int{0}}
	for _, t := range s.tokens {
		w := ""
		if t.kind == word || t.kind == mark {
			w = lower(s.text, t)
		}
		l.add(w, t.kind == mark)
		switch {
		case max(len(l.open), l.cases, l.prefixes) > maxNesting, l.intervals > maxIntervals:
			return "nested too deeply"
		case l.operators[len(l.operators)-1] > maxOperators, l.joins > maxJoins:
			return "too long for the parser"
		}
	}
	return ""
}

// add counts a token.
func (l *load) add(w string, isMark bool) {
	switch w {
	case "(", "{":
		l.open, l.operators = append(l.open, l.last == "interval"), append(l.operators, 0)
		if l.last == "interval" {
			l.intervals++
		}
	case ")", "}":
		l.closed()
	case "case", "begin":
		l.cases++
	case "end":
		l.cases--
	case ",":
		l.operators[len(l.operators)-1] = 0
	case "join", "straight_join", "union", "except", "intersect":
		l.joins++
	default:
		if isMark && strings.Contains("+-*/=<>|&^%||", w) {
			l.operators[len(l.operators)-1]++
		}
	}
	switch w {
	case "!", "~", "-", "+", "not", "binary", "interval", "explain", "describe", "desc":
		l.prefixes++
	default:
		l.prefixes = 0
	}
	l.last = w
}

// closed leaves a bracket.
func (l *load) closed() {
	last := len(l.open) - 1
	if last < 0 {
		return
	}
	if l.open[last] {
		l.intervals--
	}
	l.open, l.operators = l.open[:last], l.operators[:last+1]
}
