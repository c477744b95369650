package postgres

import (
	"errors"
	"strings"

	pg "github.com/sqlc-dev/oliphant"
	"github.com/sqlc-dev/oliphant/parser"
)

// token is a token of a text; comments are left out.
type token struct {
	start, end int
	kind       pg.Token
	keyword    pg.KeywordKind
}

// chunk is the text of one statement: its place, without what surrounds it, and its tokens.
type chunk struct {
	start, end int
	tokens     []token
}

// shifted returns the tokens of the chunk with offsets from its start.
func (c chunk) shifted() []token {
	all := make([]token, len(c.tokens))
	for i, t := range c.tokens {
		t.start -= c.start
		t.end -= c.start
		all[i] = t
	}
	return all
}

// newChunk returns the chunk of these tokens; without tokens, ok is false.
func newChunk(tokens []token) (c chunk, ok bool) {
	if len(tokens) == 0 {
		return chunk{}, false
	}
	return chunk{start: tokens[0].start, end: tokens[len(tokens)-1].end, tokens: tokens}, true
}

// parts splits the chunk at every semicolon in it.
func (c chunk) parts() []chunk {
	var parts []chunk
	from := 0
	for i := 0; i <= len(c.tokens); i++ {
		if i < len(c.tokens) && c.tokens[i].kind != pg.Token_ASCII_59 {
			continue
		}
		if part, ok := newChunk(c.tokens[from:i]); ok {
			parts = append(parts, part)
		}
		from = i + 1
	}
	return parts
}

// split cuts a text at the semicolons that end statements: those outside of parentheses and of BEGIN ATOMIC … END.
func split(text string) []chunk {
	var chunks []chunk
	var open []token
	parentheses, blocks := 0, 0
	flush := func() {
		if c, ok := newChunk(open); ok {
			chunks = append(chunks, c)
		}
		open, parentheses, blocks = nil, 0, 0
	}
	for _, t := range scan(text) {
		switch t.kind { //nolint:exhaustive // the others do not matter
		case pg.Token_ASCII_40:
			parentheses++
		case pg.Token_ASCII_41:
			parentheses--
		case pg.Token_ATOMIC:
			if n := len(open); n > 0 && open[n-1].kind == pg.Token_BEGIN_P {
				blocks++
			}
		case pg.Token_CASE:
			if blocks > 0 {
				blocks++
			}
		case pg.Token_END_P:
			if blocks > 0 {
				blocks--
			}
		case pg.Token_ASCII_59:
			if parentheses <= 0 && blocks == 0 {
				flush()
				continue
			}
		default:
		}
		open = append(open, t)
	}
	flush()
	return chunks
}

// unreadable is the kind of a token for text that the scanner refuses.
const unreadable = pg.Token(-1)

// scan returns the tokens of a text. What the scanner refuses is one token of the kind unreadable, up to the
// semicolon after it.
func scan(text string) []token {
	var all []token
	for base := 0; base < len(text); {
		tokens, bad := scanSome(text[base:])
		for _, t := range tokens {
			t.start, t.end = t.start+base, t.end+base
			all = append(all, t)
		}
		if bad < 0 {
			break
		}
		bad += base
		end := strings.IndexByte(text[bad:], ';')
		if end <= 0 { // always go on by one byte at least
			end = min(1, len(text)-bad)
		}
		all = append(all, token{start: bad, end: bad + end, kind: unreadable})
		base = bad + end
	}
	return all
}

// scanSome scans a text up to the first place that is refused, or -1.
func scanSome(text string) (tokens []token, bad int) {
	tokens, at, ok := scanAll(text)
	if ok {
		return tokens, -1
	}
	if at > 0 && at < len(text) {
		if tokens, _, ok = scanAll(text[:at]); ok {
			return tokens, at
		}
	}
	return nil, 0
}

// blanks are the bytes between tokens.
const blanks = " \t\n\r\f\v"

// scanAll scans a whole text; when it is refused, at is the place.
func scanAll(text string) (tokens []token, at int, ok bool) {
	defer func() {
		if recover() != nil {
			tokens, at, ok = nil, 0, false
		}
	}()
	result, err := pg.Scan(text)
	if err != nil {
		var refused *parser.Error
		if errors.As(err, &refused) && refused.Cursorpos > 0 {
			return nil, byteAt(text, refused.Cursorpos-1), false
		}
		return nil, 0, false
	}
	last := 0 // the scanner ends in silence at a zero byte, so what it has not seen is looked for
	for _, t := range result.GetTokens() {
		start, end := int(t.GetStart()), int(t.GetEnd())
		if start < last || end > len(text) || start >= end || strings.Trim(text[last:start], blanks) != "" {
			return nil, last, false
		}
		last = end
		if t.GetToken() != pg.Token_C_COMMENT && t.GetToken() != pg.Token_SQL_COMMENT {
			tokens = append(tokens, token{start: start, end: end, kind: t.GetToken(), keyword: t.GetKeywordKind()})
		}
	}
	if strings.Trim(text[last:], blanks) != "" {
		return nil, last, false
	}
	return tokens, 0, true
}

// byteAt returns the offset of the rune of that number.
func byteAt(text string, runes int) int {
	for i := range text {
		if runes == 0 {
			return i
		}
		runes--
	}
	return len(text)
}
