package source

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// maxPattern limits the nesting of a pattern.
const maxPattern = 100

// matching returns a short text that matches the pattern and has a length within the bounds, in characters. Without ok,
// the text is a guess: the pattern uses features that Go lacks, such as lookahead.
func matching(pattern string, least, most int) (made string, ok bool) {
	const guess = "semel"
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return guess, false
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return guess, false
	}
	tree = tree.Simplify()
	for more := range 8 { // the loops of the pattern run one, two, four, … times longer
		var b strings.Builder
		writeMatch(&b, tree, (1<<more)-1, 0)
		made := b.String()
		if len(made) < least && compiled.MatchString(made+"x") { // not anchored at its end
			made += strings.Repeat("x", least-len(made))
		}
		if fits(made, least, most) && compiled.MatchString(made) {
			return made, true
		}
	}
	return guess, false
}

// writeMatch writes the shortest match, with unbounded loops repeated extra times more.
func writeMatch(b *strings.Builder, re *syntax.Regexp, extra, depth int) {
	if depth > maxPattern || b.Len() > maxText {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(printable(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			writeMatch(b, sub, extra, depth+1)
		}
	case syntax.OpAlternate:
		writeMatch(b, re.Sub[0], extra, depth+1)
	case syntax.OpStar, syntax.OpPlus:
		n := extra
		if re.Op == syntax.OpPlus {
			n++
		}
		for range n {
			writeMatch(b, re.Sub[0], 0, depth+1)
		}
	case syntax.OpQuest:
		if extra > 0 {
			writeMatch(b, re.Sub[0], extra, depth+1)
		}
	case syntax.OpRepeat: // simplified away
	case syntax.OpNoMatch, syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
	}
}

// printable returns a letter or a digit of a class, or else its first character.
func printable(ranges []rune) rune {
	for _, wanted := range "aA1x-_ " {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= wanted && wanted <= ranges[i+1] {
				return wanted
			}
		}
	}
	if len(ranges) == 0 {
		return 'x'
	}
	for i := 0; i+1 < len(ranges); i += 2 {
		if low := max(ranges[i], '!'); low <= ranges[i+1] {
			return low
		}
	}
	return ranges[0]
}
