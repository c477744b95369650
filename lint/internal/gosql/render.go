package gosql

import (
	"fmt"
	"regexp"
	"strings"
)

// rendered is a text with names and placeholders in its holes.
type rendered struct {
	sql string
	// why names a hole whose content decides what the statement does; empty for none.
	why string
	// holes says that there are any.
	holes bool
	parts []span
	// shown has each replacement with the expression in braces, for people.
	shown []string
	// zero says that a variable which nothing has set is in it.
	zero bool
	// filled is the expression that fills in placeholders; empty for none.
	filled string
}

// span is a part with the bytes where its text begins and ends.
type span struct {
	part
	start, end int
}

// render fills the holes of a text. A table's name becomes one that no schema has, and a whole number a
// placeholder.
func (t text) render() rendered {
	var b strings.Builder
	out := rendered{}
	for n, p := range t {
		start := b.Len()
		out.zero = out.zero || p.zero
		if p.hole == constant {
			b.WriteString(p.text)
			out.parts = append(out.parts, span{p, start, b.Len()})
			continue
		}
		if p.hole == filled {
			out.filled = p.why
			continue
		}
		out.holes = true
		fill, ok := p.fill(b.String(), n)
		if !ok && out.why == "" {
			out.why = p.why
		}
		b.WriteString(fill)
		out.shown = append(out.shown, fill, "{"+p.why+"}")
	}
	out.sql = b.String()
	return out
}

var (
	comments = regexp.MustCompile(`(?s)/\*.*?\*/|--[^\n]*(?:\n|$)`)
	// aName matches the beginning of a name that goes on in a hole.
	aName  = regexp.MustCompile("[\\w$.\"`\\[]*$")
	tables = regexp.MustCompile(`(?is)(?:\b(?:insert\s+(?:ignore\s+)?into|insert\s+or\s+\w+\s+into|replace\s+into|merge\s+into|delete\s+from|join|truncate(?:\s+table)?|(?:create|drop|alter)(?:\s+\w+)?\s+table|if\s+(?:not\s+)?exists|references|(?:attach|detach)\s+partition)\s+(?:only\s+)?|^\s*update\s+(?:only\s+|ignore\s+)?|\)\s*update\s+(?:only\s+)?)$`)
	reads  = regexp.MustCompile(`(?is)\b(distinct\s+)?from\s+(?:only\s+)?$`)
)

// fill returns a replacement for a hole behind a text, and whether it says all that matters.
func (p part) fill(before string, n int) (string, bool) {
	name := fmt.Sprintf("semel_unknown_%d_", n)
	clean := comments.ReplaceAllString(before, " ")
	if strings.Contains(clean, "/*") || strings.Count(clean, "'")%2 == 1 {
		return name, false
	}
	lead := aName.FindString(clean)
	head := clean[:len(clean)-len(lead)]
	if p.hole == number {
		switch {
		case strings.HasSuffix(clean, "$") || strings.HasSuffix(clean, "?"):
			return fmt.Sprint(9000 + n), true
		case lead == "":
			return fmt.Sprintf(":semel_%d_", n), true
		}
	}
	quote := `"`
	if p.hole != quoted || strings.ContainsAny(lead, "\"`[") {
		quote = ""
	}
	return quote + name + quote, tables.MatchString(head) || readsTable(head)
}

// readsTable reports whether a text ends with the FROM of a query.
func readsTable(head string) bool {
	m := reads.FindStringSubmatchIndex(head)
	if m == nil || m[2] >= 0 {
		return false
	}
	depth := 0
	for i := m[0] - 1; i >= 0; i-- { // back to the parenthesis around it
		switch head[i] {
		case ')':
			depth++
		case '(':
			depth--
		}
		if depth < 0 {
			head = head[i+1:]
			break
		}
	}
	return regexp.MustCompile(`(?i)^\s*(?:with\b.*)?\bselect\b`).MatchString(head)
}

var write = regexp.MustCompile(`(?is)\b(?:insert\s+(?:or\s+\w+\s+|ignore\s+)?into|update\s+\S.*?\bset\b|update\s*$|^\s*update\b|delete\s+from|replace\s+into|merge\s+into|truncate\b|(?:create|drop|alter)\s+(?:unique\s+|or\s+replace\s+|temp\s+|temporary\s+|materialized\s+)*(?:table|index|view|trigger|function|sequence|schema|database|type|extension)\b|call\s+\w|nextval|setval|\bdo\s+\$)`)

// showsWrite reports whether the constant parts of a text show that it changes something.
func showsWrite(t text) bool {
	var b strings.Builder
	for _, p := range t {
		if p.hole == constant {
			b.WriteString(p.text)
		} else {
			b.WriteString(" semel_unknown ")
		}
	}
	return write.MatchString(comments.ReplaceAllString(b.String(), " "))
}

// startsText reports whether nothing but comments and blanks is in front of what a caller gives, so that it is a statement.
func startsText(t text) bool {
	s, known := t.known()
	if !known {
		return true
	}
	s = strings.ToLower(strings.TrimSpace(comments.ReplaceAllString(s, " ")))
	return s == "" || strings.HasPrefix(s, "explain") || strings.HasPrefix(s, "with ") || strings.HasSuffix(s, ";")
}
