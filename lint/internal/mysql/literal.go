package mysql

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sqlc-dev/marino/ast"
	"github.com/sqlc-dev/marino/mysql"

	"github.com/semel-dev/semel/lint/internal/tree"
)

func (t *translator) literal(n *ast.ValueExprBase) tree.Expr {
	number := func(text string) tree.Expr { return &tree.Literal{Kind: tree.Number, Text: text} }
	switch n.Kind() {
	case ast.KindNull:
		return &tree.Literal{Kind: tree.Null}
	case ast.KindInt64:
		if n.Type.GetFlag()&mysql.IsBooleanFlag != 0 {
			return &tree.Literal{Kind: tree.Bool, Text: strconv.FormatBool(n.GetInt64() > 0)}
		}
		return number(strconv.FormatInt(n.GetInt64(), 10))
	case ast.KindUint64:
		return number(strconv.FormatUint(n.GetUint64(), 10))
	case ast.KindFloat64:
		return number(t.numberAt(n, strconv.FormatFloat(n.GetFloat64(), 'g', -1, 64)))
	case ast.KindMysqlDecimal:
		return number(t.numberAt(n, n.GetMysqlDecimal().String()))
	case ast.KindString:
		return t.underMode(n, stringLiteral(n))
	case ast.KindBytes, ast.KindBinaryLiteral:
		if n.Type.GetFlag()&mysql.UnderScoreCharsetFlag != 0 {
			return t.underMode(n, stringLiteral(n))
		}
		return &tree.Literal{Kind: tree.Bytes, Text: n.GetString()}
	}
	return raw("a literal that the linter does not know")
}

// numberAt returns a number as it was written.
func (t *translator) numberAt(n ast.ExprNode, otherwise string) string {
	rest := t.text[min(n.OriginTextPosition(), len(t.text)):]
	length := 0
	for length < len(rest) {
		c := rest[length]
		exponent := length > 0 && (c == 'e' || c == 'E' || (c == '+' || c == '-') && (rest[length-1]|0x20) == 'e')
		if c != '.' && (c < '0' || c > '9') && !exponent {
			break
		}
		length++
	}
	written := strings.ToLower(rest[:length])
	want, err := strconv.ParseFloat(otherwise, 64)
	if got, gotErr := strconv.ParseFloat(written, 64); err != nil || gotErr != nil || got != want {
		return otherwise
	}
	return written
}

// underMode notes how a string was written when the sql_mode decides what that means.
func (t *translator) underMode(n ast.ExprNode, e tree.Expr) tree.Expr {
	l, ok := e.(*tree.Literal)
	if !ok || l.Kind != tree.String {
		return e
	}
	rest := t.text[min(n.OriginTextPosition(), len(t.text)):]
	if rest == "" || rest[0] != '\'' && rest[0] != '"' { // a character set before it
		if l.Text == "" || strings.ContainsAny(t.text, "\"\\") {
			l.Written = "'?"
		}
		return e
	}
	written := rest[:quotedLen(rest, true)]
	if written[0] == '"' || written == "''" || strings.Contains(written, `\`) {
		l.Written = written
	}
	return e
}

// stringLiteral translates a string. Bytes in a character set other than UTF-8 are not a text that can be
// compared with others.
func stringLiteral(n *ast.ValueExprBase) tree.Expr {
	text := n.GetString()
	if n.Type.GetFlag()&mysql.UnderScoreCharsetFlag == 0 {
		return &tree.Literal{Kind: tree.String, Text: text}
	}
	switch set := n.Type.GetCharset(); {
	case set == "binary":
		return &tree.Literal{Kind: tree.Bytes, Text: text}
	case strings.HasPrefix(set, "utf8"), set == "ascii", set == "latin1":
		ascii := strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
		if ascii || set != "latin1" && utf8.ValidString(text) {
			return &tree.Literal{Kind: tree.String, Text: text}
		}
	}
	return raw("a string in the character set %s", n.Type.GetCharset())
}
