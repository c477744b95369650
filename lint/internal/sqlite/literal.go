package sqlite

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/sqlc-dev/meyer/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

func literal(l *ast.Literal) tree.Expr {
	switch l.Kind {
	case ast.LitNull:
		return &tree.Literal{Kind: tree.Null}
	case ast.LitInteger, ast.LitFloat:
		return &tree.Literal{Kind: tree.Number, Text: number(l.Value)}
	case ast.LitString:
		return &tree.Literal{Kind: tree.String, Text: l.Value}
	case ast.LitBlob:
		digits := strings.TrimSuffix(strings.TrimLeft(l.Value, "xX"), "'")
		if value, err := hex.DecodeString(strings.TrimPrefix(digits, "'")); err == nil {
			return &tree.Literal{Kind: tree.Bytes, Text: string(value)}
		}
	case ast.LitCurrentDate:
		return &tree.Call{Name: "current_date"}
	case ast.LitCurrentTime:
		return &tree.Call{Name: "current_time"}
	case ast.LitCurrentTimestamp:
		return &tree.Call{Name: "now"}
	}
	return &tree.Raw{Why: "a literal of an unknown kind"}
}

// number writes a hexadecimal integer, which is one of 64 bits with a sign, in decimal.
func number(text string) string {
	if len(text) < 2 || fold(text[:2]) != "0x" {
		return text
	}
	bits, err := strconv.ParseUint(text[2:], 16, 64)
	if err != nil {
		return text
	}
	return strconv.FormatInt(int64(bits), 10) //nolint:gosec // SQLite lets it overflow
}

// typeName is a type as written, in lower case and without the quotes round the whole of it.
func typeName(n *ast.TypeName) string {
	if n == nil {
		return ""
	}
	// SQLite reads GENERATED ALWAYS as words of the type, and then takes them off.
	name := strings.TrimSpace(strings.TrimSuffix(fold(n.Name), "generated always"))
	if unquoted := unquote(n.Name); unquoted != "" {
		name = fold(unquoted)
	}
	if len(n.Args) > 0 {
		name += "(" + strings.Join(n.Args, ",") + ")"
	}
	return name
}

// unquote returns the text within the quotes of a type, or nothing if it is not one quoted text.
func unquote(s string) string {
	if len(s) < 2 || !strings.ContainsAny(s[:1], "\"'`[") || strings.ContainsAny(s[1:len(s)-1], "\"'`[]") {
		return ""
	}
	return s[1 : len(s)-1]
}
