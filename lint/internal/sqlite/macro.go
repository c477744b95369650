package sqlite

import (
	"strings"

	"github.com/sqlc-dev/meyer/lexer"
	"github.com/sqlc-dev/meyer/token"
)

// expandMacros writes the macros of sqlc as SQLite would read them, each in as many bytes as before:
// sqlc.arg(x) and sqlc.narg(x) as :x, sqlc.slice(x) as $x(slice), and sqlc.embed(t) as t.*.
func expandMacros(text string) string {
	if !strings.Contains(strings.ToLower(text), "sqlc") {
		return text
	}
	out := []byte(text)
	tokens := lexer.Lex(text)
	word := func(i int) string { return text[tokens[i].Pos:tokens[i].End] }
	for i := 0; i+5 < len(tokens); i++ {
		if fold(word(i)) != "sqlc" || tokens[i+1].Kind != token.DOT ||
			tokens[i+3].Kind != token.LP || tokens[i+5].Kind != token.RP {
			continue
		}
		expanded := expandMacro(fold(word(i+2)), strings.Trim(word(i+4), `'"`))
		from, to := tokens[i].Pos, tokens[i+5].End
		if expanded == "" || len(expanded) > to-from {
			continue
		}
		copy(out[from:to], expanded+strings.Repeat(" ", to-from-len(expanded)))
		i += 5
	}
	return string(out)
}

func expandMacro(macro, argument string) string {
	if strings.Trim(argument, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
		return ""
	}
	switch macro {
	case "arg", "narg":
		return ":" + argument
	case "slice":
		return "$" + argument + "(slice)"
	case "embed":
		return argument + ".*"
	}
	return ""
}
