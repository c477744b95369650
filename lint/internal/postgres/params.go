package postgres

import (
	"strconv"
	"strings"

	pg "github.com/sqlc-dev/oliphant"
)

// rewriter replaces the placeholders of client libraries by $n.
type rewriter struct {
	text    string
	tokens  []token
	out     strings.Builder
	copied  int            // bytes of text in out
	last    int            // the highest number in use
	numbers map[string]int // of names
	params  map[int]string // names of numbers
}

// rewrite replaces @name, :name and ? by $n where they are placeholders, and returns the names of the
// numbers. Strings, comments, casts and operators are other tokens, and stay.
func rewrite(text string, tokens []token) (rewritten string, params map[int]string) {
	r := &rewriter{text: text, tokens: tokens, numbers: map[string]int{}, params: map[int]string{}}
	for _, t := range tokens {
		if t.kind == pg.Token_PARAM {
			if n, err := strconv.Atoi(text[t.start+1 : t.end]); err == nil {
				r.last = max(r.last, n)
			}
		}
	}
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		switch {
		case t.kind == pg.Token_ASCII_58 && r.named(i) && r.colonStarts(i):
			r.replace(t.start, tokens[i+1].end, text[tokens[i+1].start:tokens[i+1].end])
			i++
		case t.kind != pg.Token_Op:
		case text[t.end-1] == '@' && r.named(i) && r.signStarts(i):
			r.replace(t.end-1, tokens[i+1].end, text[tokens[i+1].start:tokens[i+1].end])
			i++
		case text[t.end-1] == '?' && r.signStarts(i):
			r.replace(t.end-1, t.end, "")
		}
	}
	r.out.WriteString(text[r.copied:])
	return r.out.String(), r.params
}

// replace puts the number of a name, or a new one, for a range of the text.
func (r *rewriter) replace(start, end int, name string) {
	n, known := r.numbers[name]
	if !known || name == "" {
		r.last++
		n = r.last
		if name != "" {
			r.numbers[name] = n
			r.params[n] = name
		}
	}
	r.out.WriteString(r.text[r.copied:start])
	r.out.WriteString(" $" + strconv.Itoa(n) + " ")
	r.copied = end
}

// named reports whether a name follows the token without a blank.
func (r *rewriter) named(i int) bool {
	if i+1 >= len(r.tokens) || r.tokens[i+1].start != r.tokens[i].end {
		return false
	}
	next := r.tokens[i+1]
	if r.text[next.start] == '"' {
		return false
	}
	return next.kind == pg.Token_IDENT || next.keyword > pg.KeywordKind_NO_KEYWORD
}

// colonStarts reports whether the colon begins a placeholder; otherwise it is in a slice or in JSON_OBJECT.
func (r *rewriter) colonStarts(i int) bool {
	if i == 0 || r.operandEnds(i-1) {
		return false
	}
	if r.tokens[i-1].kind == pg.Token_ASCII_91 { // [
		return i >= 2 && r.tokens[i-2].kind == pg.Token_ARRAY
	}
	return true
}

// signStarts reports whether the last byte of the operator begins a placeholder: it is all of the
// operator where a value must follow, or the rest is an operator that takes one.
func (r *rewriter) signStarts(i int) bool {
	t := r.tokens[i]
	if t.end-t.start == 1 {
		return i > 0 && !r.operandEnds(i-1)
	}
	switch r.text[t.start : t.end-1] {
	case "=", "<>", "!=", ">", "<=", ">=", "+", "-", "*", "/", "%", "||", "->", "->>", "#>", "#>>":
		return true
	case "<":
		return r.text[t.end-1] == '?' // <@ is an operator
	}
	return false
}

// operandEnds reports whether the token can be the end of an operand, so that an operator can follow.
func (r *rewriter) operandEnds(i int) bool {
	t := r.tokens[i]
	switch t.kind { //nolint:exhaustive // the others are decided by the kind of the keyword
	case pg.Token_BETWEEN, pg.Token_LIKE, pg.Token_ILIKE, pg.Token_BY, pg.Token_ESCAPE, pg.Token_VALUES, pg.Token_SIMILAR, pg.Token_ZONE:
		return false
	case pg.Token_NULL_P, pg.Token_TRUE_P, pg.Token_FALSE_P, pg.Token_END_P, pg.Token_DEFAULT, pg.Token_USER,
		pg.Token_CURRENT_DATE, pg.Token_CURRENT_TIME, pg.Token_CURRENT_TIMESTAMP, pg.Token_LOCALTIME,
		pg.Token_LOCALTIMESTAMP, pg.Token_CURRENT_USER, pg.Token_SESSION_USER, pg.Token_CURRENT_ROLE,
		pg.Token_IDENT, pg.Token_UIDENT, pg.Token_SCONST, pg.Token_USCONST, pg.Token_BCONST, pg.Token_XCONST,
		pg.Token_ICONST, pg.Token_FCONST, pg.Token_PARAM, pg.Token_ASCII_41, pg.Token_ASCII_93:
		return true
	default:
	}
	return t.keyword == pg.KeywordKind_UNRESERVED_KEYWORD || t.keyword == pg.KeywordKind_COL_NAME_KEYWORD ||
		t.keyword == pg.KeywordKind_TYPE_FUNC_NAME_KEYWORD
}

// Placeholders writes the placeholders of client libraries as $n, and returns the names that they had by their
// numbers.
func Placeholders(text string) (numbered string, names map[int]string) {
	return rewrite(text, scan(text))
}
