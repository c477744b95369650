package gosql

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// maxTexts bounds the alternatives of one value.
const maxTexts = 32

// value holds every text that an expression may have.
type value struct {
	texts []text
	// self says that it may keep its old text: a field that is set to a form of itself.
	self bool
}

// text is a sequence of parts.
type text []part

// part is a constant piece of a text, or a hole.
type part struct {
	text string
	hole kind
	why  string        // of a hole: the expression that is not known
	of   int           // of a parameter: its number
	lit  *ast.BasicLit // that holds the constant, from its byte off
	off  int
	zero bool // an empty text: of a field or variable that nothing has set
}

// kind says what is known of a part.
type kind uint8

const (
	constant kind = iota
	anything      // nothing is known
	number        // a whole number
	quoted        // a quoted name
	param         // a parameter of the function
	filled        // nothing, but what is in front of it may hold placeholders that the program fills in
)

func unknown(why string) value { return value{texts: []text{{{hole: anything, why: why}}}} }

func literal(s string) value { return value{texts: []text{{{text: s}}}} }

// known returns the constant of a text without holes.
func (t text) known() (string, bool) {
	var b strings.Builder
	for _, p := range t {
		if p.hole != constant {
			return "", false
		}
		b.WriteString(p.text)
	}
	return b.String(), true
}

// why returns the reason of the first hole.
func (t text) why() string {
	for _, p := range t {
		if p.hole != constant {
			return p.why
		}
	}
	return ""
}

// key is the same for texts that are the same.
func (t text) key() string {
	var b strings.Builder
	for _, p := range t {
		if p.hole == constant {
			b.WriteString(p.text)
		} else {
			b.WriteString("\x00" + string(rune('0'+p.hole)) + p.why + "\x00")
		}
	}
	return b.String()
}

// single returns the only constant that a value can have.
func (v value) single() (string, bool) {
	if len(v.texts) != 1 || v.self {
		return "", false
	}
	return v.texts[0].known()
}

// concat puts each text of b behind each of a.
func concat(a, b value) value {
	if a.self || b.self {
		return unknown("the text grows from what it was")
	}
	if len(a.texts)*len(b.texts) > maxTexts {
		return many(a, b)
	}
	var out value
	for _, x := range a.texts {
		for _, y := range b.texts {
			out.texts = append(out.texts, slices.Concat(x, y))
		}
	}
	return out
}

// many replaces more texts than are kept by their beginnings, and a hole.
func many(a, b value) value {
	why := part{hole: anything, why: "it has more than 32 forms"}
	if len(a.texts) <= maxTexts/2 {
		return concat(a, value{texts: []text{{why}}})
	}
	var out value
	for _, t := range append(slices.Clip(a.texts), b.texts...) {
		if len(t) == 0 {
			continue
		}
		if s := (text{t[0], why}); t[0].hole == constant && !slices.ContainsFunc(out.texts, func(o text) bool { return o.key() == s.key() }) && len(out.texts) < maxTexts/2 {
			out.texts = append(out.texts, s)
		}
	}
	return union(out, value{texts: []text{{why}}})
}

// union holds the texts of both.
func union(a, b value) value {
	out := value{texts: slices.Clip(a.texts), self: a.self || b.self}
	for _, t := range b.texts {
		if !slices.ContainsFunc(out.texts, func(o text) bool { return o.key() == t.key() }) {
			out.texts = append(out.texts, t)
		}
	}
	if len(out.texts) > maxTexts {
		return many(value{texts: out.texts}, value{texts: []text{{}}})
	}
	return out
}

// each maps every text whose content is known; a text with holes becomes unknown, and keeps its parts.
func (v value) each(how func(string) string) value {
	out := value{self: v.self}
	for _, t := range v.texts {
		s, ok := t.known()
		if !ok {
			t = append(slices.Clip(t), part{hole: anything, why: t.why()})
		} else if changed := how(s); changed != s {
			t = text{{text: changed}}
		}
		out = union(out, value{texts: []text{t}})
	}
	return out
}

// position returns where a byte of a constant is in the source, if the source shows it.
func (p part) position(at int) token.Pos {
	if p.lit == nil {
		return token.NoPos
	}
	return p.lit.Pos() + token.Pos(source(p.lit.Value, p.off+at))
}

// source returns the offset in a literal of a byte of its value.
func source(lit string, want int) int {
	if lit[0] == '`' {
		return 1 + want + strings.Count(lit[:min(len(lit), 1+want)], "\r")
	}
	at, done := 1, 0
	for at < len(lit)-1 && done < want {
		size, bytes := escape(lit[at:])
		at, done = at+size, done+bytes
	}
	return at
}

// escape returns how long the first character of an interpreted string is in the source, and in its value.
func escape(s string) (size, bytes int) {
	if s[0] != '\\' {
		return 1, 1
	}
	switch s[1] {
	case 'x':
		return 4, 1
	case 'u':
		return 6, 3
	case 'U':
		return 10, 4
	case '0', '1', '2', '3', '4', '5', '6', '7':
		return 4, 1
	}
	return 2, 1
}
