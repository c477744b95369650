package sqlite

import (
	"strings"

	"github.com/sqlc-dev/meyer/lexer"
	"github.com/sqlc-dev/meyer/token"
)

// piece is the text of one statement. A piece with a reason is not read.
type piece struct {
	start, end int
	why        string
}

// split finds the statements of a text. The parser gives up a whole text at its first error, so
// it is given one statement at a time.
func split(text string) []piece {
	tokens := lexer.Lex(text)
	last := len(tokens) - 1 // the end of the text
	var all []piece
	for i := 0; i < last; {
		if tokens[i].Kind == token.SEMI {
			i++
			continue
		}
		end := i + statementLength(tokens[i:last])
		all = append(all, piece{start: tokens[i].Pos, end: tokens[end-1].End})
		i = end
	}
	if at := tokens[last].Pos; at < len(text) {
		if rest := strings.TrimRight(text, " \t\r\n;"); at < len(rest) {
			all = append(all, piece{start: at, end: len(rest), why: "a NUL ends the text for SQLite"})
		}
	}
	return all
}

// statementLength counts the tokens up to the semicolon that ends the first statement. A trigger
// ends at END, which then follows a semicolon.
func statementLength(tokens []token.Token) int {
	trigger, begun := createsTrigger(tokens), false
	for i, t := range tokens {
		begun = begun || t.Kind == token.BEGIN
		ended := i >= 2 && tokens[i-1].Kind == token.END && tokens[i-2].Kind == token.SEMI
		if t.Kind == token.SEMI && (!trigger || !begun || ended) {
			return i
		}
	}
	return len(tokens)
}

func createsTrigger(tokens []token.Token) bool {
	i := 0
	skip := func(kinds ...token.Kind) {
		for _, kind := range kinds {
			if i < len(tokens) && tokens[i].Kind == kind {
				i++
			}
		}
	}
	skip(token.EXPLAIN, token.QUERY, token.PLAN)
	if i == len(tokens) || tokens[i].Kind != token.CREATE {
		return false
	}
	skip(token.CREATE, token.TEMP)
	return i < len(tokens) && tokens[i].Kind == token.TRIGGER
}
