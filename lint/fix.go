package lint

import (
	"regexp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/judge"
	"github.com/semel-dev/semel/lint/internal/parse"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// Fix is a text that makes a statement better in the place of a part of its file.
type Fix struct {
	// Line and Column are the first character that is replaced, from 1; EndLine and EndColumn are behind the last one.
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"end_line"`
	EndColumn int    `json:"end_column"`
	Text      string `json:"text"`
}

// fix returns the guard "SET column = value" of an upsert as a replacement, if the statement is judged better with it.
func (v *view) fix(d dialect.Dialect, k *knowledge, p tree.Parsed, j judge.Judgement) *Fix {
	column, with, ok := strings.Cut(strings.TrimPrefix(j.Guard, "SET "), " = ")
	if j.Rule != judge.DifferentValues || !ok {
		return nil
	}
	start, end := min(p.Start, len(v.text)), min(p.End, len(v.text))
	from, to, ok := assignment(v.text[start:end], column)
	from, to = start+from, start+to
	if !ok || slices.ContainsFunc(v.moved, func(m moved) bool { return m.at < to && from < m.end }) {
		return nil
	}
	again := parse.Statements(d, v.text[start:from]+with+v.text[to:end])
	if len(again) != 1 {
		return nil
	}
	if better := judge.Statement(d, k.schema, again[0].Statement); better.Guard == j.Guard || better.Verdict > j.Verdict {
		return nil
	}
	var first, last lineCounter
	first.advance(v.source, v.origin(from))
	last.advance(v.source, v.origin(to))
	return &Fix{first.line, first.column, last.line, last.column, with}
}

var (
	// tokens matches comments, quoted texts and names, words and signs.
	tokens = regexp.MustCompile("(?s)--[^\\n]*|/\\*.*?\\*/|'(?:[^'\\\\]|\\\\.|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|[\\pL_$][\\pL\\pN_$]*|\\S")
	begins = regexp.MustCompile(`(?i)(?:^| )(?:do update set|key update)$`)
	ends   = regexp.MustCompile(`(?i)^(?:,|;|\)|where|returning)$`)
)

// upsertSet holds the tokens of an upsert, comments left out.
type upsertSet struct {
	text   string
	tokens [][]int
}

// at returns a token; empty behind the last one.
func (u *upsertSet) at(i int) string {
	if i >= len(u.tokens) {
		return ""
	}
	return u.text[u.tokens[i][0]:u.tokens[i][1]]
}

// begin returns the first token behind DO UPDATE SET or ON DUPLICATE KEY UPDATE; -1 for none.
func (u *upsertSet) begin() int {
	for i := len(u.tokens) - 1; i >= 2; i-- {
		if begins.MatchString(u.at(i-2) + " " + u.at(i-1) + " " + u.at(i)) {
			return i + 1
		}
	}
	return -1
}

// end returns the token behind an expression.
func (u *upsertSet) end(i int) int {
	for depth := 0; i < len(u.tokens) && (depth > 0 || !ends.MatchString(u.at(i))); i++ {
		switch u.at(i) {
		case "(":
			depth++
		case ")":
			depth--
		}
	}
	return i
}

// assignment returns where the value is that the update of an upsert gives to a column.
func assignment(text, column string) (from, to int, ok bool) {
	u := upsertSet{text, slices.DeleteFunc(tokens.FindAllStringIndex(text, -1), func(m []int) bool {
		return strings.HasPrefix(text[m[0]:], "--") || strings.HasPrefix(text[m[0]:], "/*")
	})}
	const quotes = "\"`"
	for i := u.begin(); i > 0; {
		end := u.end(i + 2)
		if end > i+2 && u.at(i+1) == "=" && strings.EqualFold(strings.Trim(u.at(i), quotes), strings.Trim(column, quotes)) {
			return u.tokens[i+2][0], u.tokens[end-1][1], true
		}
		if u.at(end) != "," {
			break
		}
		i = end + 1
	}
	return 0, 0, false
}
