package judge

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// What an operator does to a column depends on the types of both: doc - 'a' removes a key, and doc - 0 the first element of an array.

// settledOp judges column operator value, and value operator column.
func (j *judge) settledOp(op *tree.Op, column string, t *target, self func(tree.Expr) bool, stays, moves verdictOf) Judgement {
	unknown := judged(CannotTell, Unproven, "the new value of "+column+" depends on the old one by "+op.Name)
	if op.Name == "not" || op.Name == "neg" {
		return moves("it is turned round")
	}
	if len(op.Args) != 2 || !self(op.Args[0]) && !self(op.Args[1]) {
		return judged(CannotTell, Unproven, "the new value of "+column+" depends on the old one in a way that the linter does not know")
	}
	left, right := op.Args[0], op.Args[1]
	def := schema.Column(t.table, column)
	switch base := j.scalarType(def); {
	case isNull(left) || isNull(right):
		if slices.Contains([]string{"+", "-", "*", "/", "%", "&", "|", "^", "||"}, op.Name) && !op.Pipes {
			return stays("it is NULL")
		}
	case base == "jsonb" && j.dialect == dialect.PostgreSQL:
		return j.settledJSON(op, column, t, self(left), stays, moves)
	case slices.Contains([]string{"|", "&", "%"}, op.Name):
		if why := j.settledBits(op, def, base, t, self); why != "" {
			return stays(why)
		}
	case op.Name == "||":
		return j.settledJoin(op, column, def, stays, moves)
	case slices.Contains([]string{"+", "-", "*", "/", "^", "div"}, op.Name):
		return j.settledSum(op, def, self(left), stays, moves, unknown)
	}
	return unknown
}

// settledBits says why bits or a remainder stay as they are, "" if they may not.
func (j *judge) settledBits(op *tree.Op, def *tree.ColumnDef, base string, t *target, self func(tree.Expr) bool) string {
	left, right := op.Args[0], op.Args[1]
	switch {
	case op.Name == "%":
		if self(left) && t.stable(right) && def != nil && typeOf(def.Type) == integer && j.wholeDivisor(right, t) {
			return "the remainder of a remainder"
		}
	case j.hasBits(base, def) && (self(left) && t.stable(right) || self(right) && t.stable(left)):
		return "bits are set or cleared"
	}
	return ""
}

// wholeDivisor reports whether a number to divide by is an integer.
func (j *judge) wholeDivisor(e tree.Expr, t *target) bool {
	if l := literal(e); l != nil {
		return whole(l)
	}
	of := schema.Column(t.table, t.column(e))
	return isParam(e) && j.dialect == dialect.PostgreSQL || of != nil && typeOf(of.Type) == integer
}

// scalarType is the type of a column without its length, "" for an array and one that is not known.
func (*judge) scalarType(def *tree.ColumnDef) string {
	if def == nil || strings.HasSuffix(def.Type, "]") {
		return ""
	}
	return baseType(def.Type)
}

// hasBits reports whether | and & of a type are those of its bits.
func (j *judge) hasBits(base string, def *tree.ColumnDef) bool {
	if def != nil && (typeOf(def.Type) == integer || typeOf(def.Type) == boolean && j.dialect != dialect.PostgreSQL) {
		return true
	}
	return base == "bit" || j.dialect == dialect.PostgreSQL && slices.Contains([]string{"varbit", "inet", "macaddr", "macaddr8"}, base)
}

// counts reports whether a type is one of numbers, or of times and the like to which numbers and intervals are added.
func (j *judge) counts(def *tree.ColumnDef) (numbers, times bool) {
	if def == nil {
		return false, false
	}
	base := j.scalarType(def)
	kind := typeOf(def.Type)
	numbers = kind == integer || kind == float || slices.Contains([]string{"numeric", "decimal", "dec", "real", "double", "float", "float4", "float8", "money", "year"}, base)
	times = j.dialect == dialect.PostgreSQL && slices.Contains([]string{"date", "time", "timetz", "timestamp", "timestamptz", "interval", "inet", "pg_lsn"}, base)
	return numbers, times || j.dialect != dialect.PostgreSQL // where every value is a number to them
}

// settledSum judges arithmetic: it changes numbers and times, unless it adds nothing. Of other types it is an operator of
// their own, such as that of sets.
func (j *judge) settledSum(op *tree.Op, def *tree.ColumnDef, left bool, stays, moves verdictOf, unknown Judgement) Judgement {
	numbers, times := j.counts(def)
	l := literal(op.Args[1])
	one := map[string]string{"+": "0", "-": "0", "*": "1", "/": "1", "^": "0", "div": "1"}[op.Name]
	nothing := left && l != nil && l.Kind == tree.Number && l.Text == one
	switch {
	case nothing && (numbers || j.scalarType(def) == "date" && j.dialect == dialect.PostgreSQL):
		return stays("it stays as it is")
	case nothing, !numbers && !times && def != nil:
	case def == nil && l != nil && l.Kind == tree.String: // maybe a key of JSON
	default:
		return moves("it is computed from the old value")
	}
	return unknown
}

// settledJoin judges column || value: a text or an array grows.
func (*judge) settledJoin(op *tree.Op, column string, def *tree.ColumnDef, stays, moves verdictOf) Judgement {
	switch {
	case def == nil:
		return judged(CannotTell, Unproven, "what "+column+" is joined with is not known")
	case typeOf(def.Type) != text && !strings.HasSuffix(def.Type, "]"):
		return judged(CannotTell, Unproven, "the type "+def.Type+" of "+column+" is not known")
	}
	for _, arg := range op.Args {
		l, none := literal(uncast(arg)), "{}"
		if typeOf(def.Type) == text {
			none = ""
		}
		if list, ok := uncast(arg).(*tree.List); l != nil && l.Kind == tree.String && l.Text == none || ok && len(list.Items) == 0 {
			return stays("nothing is added")
		}
	}
	return moves("it grows")
}

// settledJSON judges the operators of jsonb.
func (j *judge) settledJSON(op *tree.Op, column string, t *target, left bool, stays, moves verdictOf) Judgement {
	unknown := judged(CannotTell, Unproven, "whether "+op.Name+" changes "+column+" each time depends on what it holds")
	value := op.Args[1]
	if !left {
		value = op.Args[0]
	}
	l, list := literal(uncast(value)), textsOf(value)
	switch {
	case op.Name == "||":
		return j.joinedJSON(l, column, left, stays, moves)
	case !left || !t.stable(value):
	case op.Name == "-":
		switch cast, isCast := value.(*tree.Cast); {
		case isCast && typeOf(cast.Type) == integer, !isCast && l != nil && l.Kind == tree.Number:
			return moves("an element of an array is removed, and then the next one")
		case isCast && (typeOf(cast.Type) == text || cast.Type == "text[]"), l != nil && l.Kind == tree.String && !isCast, list != nil:
			return stays("keys are removed")
		}
	case op.Name == "#-" && len(list) > 0:
		if last := strings.TrimSpace(list[len(list)-1]); whole(&tree.Literal{Kind: tree.String, Text: last}) { // PostgreSQL reads over blanks
			return moves("an element of an array is removed, and then the next one")
		}
		return stays("a key is removed")
	}
	return unknown
}

// textsOf returns the elements of an array of texts that is written out, as '{a,b}' or ARRAY['a', 'b'].
func textsOf(e tree.Expr) (all []string) {
	switch e := uncast(e).(type) {
	case *tree.Literal:
		inner, isArray := strings.CutPrefix(e.Text, "{")
		inner, ends := strings.CutSuffix(inner, "}")
		if e.Kind == tree.String && isArray && ends && !strings.ContainsAny(inner, `"\{} `) {
			return strings.Split(inner, ",")
		}
	case *tree.List:
		for _, item := range e.Items {
			l := literal(uncast(item))
			if l == nil || l.Kind != tree.String {
				return nil
			}
			all = append(all, l.Text)
		}
	}
	return all
}

// joinedJSON judges doc || value and value || doc: the keys of an object are set once, an array grows.
func (*judge) joinedJSON(l *tree.Literal, column string, left bool, stays, moves verdictOf) Judgement {
	if l == nil || l.Kind != tree.String {
		return judged(CannotTell, Unproven, "whether an object or an array is added to "+column+" is not known")
	}
	switch text := strings.TrimSpace(l.Text); {
	case strings.HasPrefix(text, "{"):
		res := stays("the keys of an object are set")
		res.Assumes = []string{column + " holds an object and no array"}
		return res
	case strings.Join(strings.Fields(text), "") == "[]" && left:
		return judged(CannotTell, Unproven, column+" becomes an array")
	}
	return moves("the array grows")
}
