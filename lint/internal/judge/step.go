package judge

import (
	"math/big"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// A guard by arithmetic, such as version = version + 1 WHERE version = …, holds as long as the sum is another number. PostgreSQL
// refuses one that its type cannot hold. MySQL does so under a strict sql_mode, and otherwise keeps the end of the type, which
// the next run finds again; SQLite goes on with floating point numbers, to which adding 1 may change nothing.

// steps reports whether a column that is looked for by its value moves away from it, and under which conditions:
// version = version + 1 WHERE version = …, or version = … + 1.
func (j *judge) steps(v tree.Expr, column string, right tree.Expr, t *target) (moved bool, under []string) {
	op, ok := v.(*tree.Op)
	def := schema.Column(t.table, column)
	if !ok || op.Name != "+" && op.Name != "-" || len(op.Args) != 2 || def == nil || typeOf(def.Type) != integer {
		return false, nil
	}
	n := number(literal(op.Args[1]))
	if n == nil || !n.IsInt() || n.Sign() == 0 {
		return false, nil
	}
	if op.Name == "-" {
		n = new(big.Rat).Neg(n)
	}
	other := schema.Column(t.table, t.column(right))
	l := literal(right)
	switch {
	case t.column(op.Args[0]) != column && (!isParam(right) || tree.Text(op.Args[0]) != tree.Text(right)):
		return false, nil
	case l != nil && !whole(l), l == nil && other != nil && (!t.stable(right) || typeOf(other.Type) != integer), l == nil && other == nil && !isParam(right):
		return false, nil
	}
	return j.sumOf(def, l, n)
}

// sumOf reports whether a number of a column, nil for one that is not known, plus n is another number of it.
func (j *judge) sumOf(def *tree.ColumnDef, l *tree.Literal, n *big.Rat) (moved bool, under []string) {
	var at, to *big.Rat
	if l != nil {
		at = number(&tree.Literal{Kind: tree.Number, Text: l.Text})
		to = new(big.Rat).Add(at, n)
	}
	switch j.dialect {
	case dialect.PostgreSQL:
	case dialect.SQLite:
		const exact = 53 // bits of a floating point number
		if l != nil {
			return at.Num().BitLen() < exact && to.Num().BitLen() < exact, nil
		}
		return true, []string{def.Name + " is an integer, and not at the end of 64 bits"}
	case dialect.MySQL:
		if l != nil && holds(def.Type, at) && holds(def.Type, to) {
			return true, nil
		}
		return j.refused(def.Name + " beyond the end of its type")
	}
	return true, nil
}

// refused reports whether MySQL refuses what a column cannot hold, which is assumed of a server that is not known.
func (j *judge) refused(what string) (refused bool, under []string) {
	switch {
	case j.schema.Clips:
		return false, nil
	case j.schema.Refuses:
		return true, nil
	}
	return true, []string{"the sql_mode of the server is strict: it refuses " + what + ", and does not keep the end"}
}

// holds reports whether a type of MySQL has room for a number.
func holds(name string, n *big.Rat) bool {
	least, most := new(big.Int), new(big.Int).Lsh(big.NewInt(1), uint(bits(name)))
	if strings.Contains(name, "unsigned") {
		most.Lsh(most, 1)
	} else {
		least.Neg(most)
	}
	return n.IsInt() && n.Num().Cmp(least) >= 0 && n.Num().Cmp(most) < 0
}

// failsByGenerated finds g = … of a generated column of one other that is stepped.
func (j *judge) failsByGenerated(op *tree.Op, t *target) (why string, under []string) {
	def := schema.Column(t.table, t.column(op.Args[0]))
	if def == nil || def.Generated == nil || op.Name != "=" || len(op.Args) != 2 || literal(op.Args[1]) == nil || !whole(literal(op.Args[1])) {
		return "", nil
	}
	g, ok := def.Generated.(*tree.Op)
	if !ok || len(g.Args) != 2 || typeOf(def.Type) != integer {
		return "", nil
	}
	base, factor := t.column(g.Args[0]), number(literal(g.Args[1]))
	linear := g.Name == "*" && factor != nil && factor.IsInt() && factor.Sign() != 0 || (g.Name == "+" || g.Name == "-") && factor != nil && factor.IsInt()
	v := t.new(base)
	if !linear || v == nil {
		return "", nil
	}
	moved, under := j.steps(v, base, &tree.Literal{Kind: tree.Number, Text: "0"}, t)
	if moved && j.dialect == dialect.MySQL { // both columns may be at their ends
		moved, under = j.refused(base + " or " + def.Name + " beyond the end of its type")
	}
	if !moved {
		return "", nil
	}
	return "it moves " + base + ", and with it the generated column that it looks for", under
}
