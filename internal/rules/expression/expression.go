package expression

import (
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/internal/texts"
)

// Expr is a valid expression. It is an immutable value. The zero Expr is invalid.
type Expr struct {
	kind     kind
	name     string // of a column or a function
	constant Constant
	args     []Expr
	collated bool // of a column: its collation says which texts are the same
}

type kind uint8

const (
	none kind = iota
	column
	call
	constant
)

// Constant is a text or a whole number. The zero Constant is the empty text.
type Constant struct {
	Text string
	// Number says that Text holds a whole number, in decimal.
	Number bool
}

// String writes the constant as a rules file has it.
func (c Constant) String() string {
	if c.Number {
		return c.Text
	}
	return quoteText(c.Text)
}

// Column makes the expression that is a column and nothing else.
func Column(name string) Expr { return Expr{kind: column, name: name} }

// Collated makes the expression that is a column whose collation says which texts
// are the same.
func Collated(name string) Expr { return Expr{kind: column, name: name, collated: true} }

// IsNull makes the expression that says whether a column is NULL.
func IsNull(name string) Expr { return newCall("is_null", Column(name)) }

// Coalesce makes the expression that has a constant in place of NULL. x must
// not be a constant.
func Coalesce(x Expr, c Constant) Expr {
	return newCall("coalesce", x, Literal(c))
}

// Literal makes the expression that is a constant: only an argument of others can be one.
func Literal(c Constant) Expr { return Expr{kind: constant, constant: c} }

// Constant returns the constant when the expression is one.
func (e Expr) Constant() (Constant, bool) { return e.constant, e.kind == constant }

// Call makes the call of a function by which x is [Expr.Accepted].
func Call(name string, x Expr) Expr { return newCall(name, x) }

func newCall(name string, args ...Expr) Expr { return Expr{kind: call, name: name, args: args} }

// IsZero reports whether the expression is empty.
func (e Expr) IsZero() bool { return e.kind == none }

// Column returns the name of the column when the expression is one and nothing
// else.
func (e Expr) Column() (string, bool) {
	if e.kind != column {
		return "", false
	}
	return e.name, true
}

// Columns returns the columns that the expression reads, each once.
func (e Expr) Columns() []string {
	var names []string
	e.visit(func(e Expr) {
		if e.kind == column && !slices.Contains(names, e.name) {
			names = append(names, e.name)
		}
	})
	return names
}

// IsCollated reports whether the collation of the column that the expression reads
// says which texts are the same; otherwise different texts differ.
func (e Expr) IsCollated() (is bool) {
	e.visit(func(e Expr) { is = is || e.collated })
	return is
}

// Argument returns the function that the expression calls and the first thing it
// is called with. ok is false when the expression calls none.
func (e Expr) Argument() (function string, first Expr, ok bool) {
	if e.kind != call {
		return "", Expr{}, false
	}
	return e.name, e.args[0], true
}

// Functions returns the functions that the expression calls, outermost first.
func (e Expr) Functions() []string {
	var names []string
	e.visit(func(e Expr) {
		if e.kind == call {
			names = append(names, e.name)
		}
	})
	return names
}

func (e Expr) visit(see func(Expr)) {
	see(e)
	for _, arg := range e.args {
		arg.visit(see)
	}
}

// Equal reports whether two expressions are written the same. [Same] reports
// whether they mean the same in a database.
func (e Expr) Equal(other Expr) bool {
	return e.kind == other.kind && e.name == other.name && e.collated == other.collated && e.constant == other.constant &&
		slices.EqualFunc(e.args, other.args, Expr.Equal)
}

// String writes the expression as a rules file has it, so that [Parse] reads it
// again.
func (e Expr) String() string {
	switch e.kind {
	case none:
		return ""
	case column:
		name := e.name
		if !isWord(name) {
			name = `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		}
		if e.collated {
			return "collated(" + name + ")"
		}
		return name
	case constant:
		return e.constant.String()
	case call:
	}
	return e.name + "(" + strings.Join(texts.Of(e.args, Expr.String), ", ") + ")"
}

// isWord reports whether a name needs no quotes in a rules file.
func isWord(name string) bool {
	if meansMore(name) {
		return false
	}
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

func quoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// IsWhole reports whether s is a whole number that every database holds in 64
// bits, written in the one way that [Constant] has it.
func IsWhole(s string) bool {
	n, err := strconv.ParseInt(s, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == s
}
