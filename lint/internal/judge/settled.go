package judge

import (
	"slices"
	"strings"

	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

const relativeGuard = "add a version to the condition (SET …, version = version + 1 WHERE … AND version = ?), or run it under a claimed key (semel.Do)"

// settled judges a value that reads its own column, and no other that is written: whether
// computing it from its own result gives that result. Compositions of such functions
// need not have that property, so only the forms named here count.
func (j *judge) settled(v tree.Expr, column string, t *target) Judgement {
	stays := func(why string) Judgement {
		return judged(Safe, SettledValue, "computing "+column+" again gives the same: "+why)
	}
	moves := func(why string) Judgement {
		return guardedBy(judged(NotSafe, RelativeValue, "each run changes "+column+" again: "+why), relativeGuard)
	}
	self := func(e tree.Expr) bool { return t.column(e) == column }
	switch e := v.(type) {
	case *tree.Column:
		return stays("it is the column itself")
	case *tree.Call:
		return j.settledCall(e, t, self, stays, moves)
	case *tree.Op:
		return j.settledOp(e, column, t, self, stays, moves)
	case *tree.Case:
		return j.settledCase(e, column, t)
	}
	return judged(CannotTell, Unproven, "the new value of "+column+" depends on the old one in a way that the linter does not know")
}

type verdictOf func(why string) Judgement

//nolint:gocognit // a case for each function.
func (j *judge) settledCall(c *tree.Call, t *target, self func(tree.Expr) bool, stays, moves verdictOf) Judgement {
	unknown := judged(CannotTell, Unproven, c.Name+"() of the old value: the linter does not know whether that changes it each time")
	if len(c.Args) == 0 || c.Over || c.Distinct || c.Filter != nil {
		return unknown
	}
	rest := func(from int) bool {
		return !slices.ContainsFunc(c.Args[from:], func(e tree.Expr) bool { return !t.stable(e) })
	}
	first := self(c.Args[0])
	switch c.Name {
	case "coalesce", "ifnull":
		// What comes behind the column counts only while that is NULL; it is not afterwards.
		at := slices.IndexFunc(c.Args, self)
		if at >= 0 && !slices.ContainsFunc(c.Args[:at], func(e tree.Expr) bool { return !t.stable(e) }) && !slices.ContainsFunc(c.Args[at+1:], func(e tree.Expr) bool {
			return len(t.readsWritten(e)) > 0 || hasQuery(e) || j.effectsOf(e).acts || j.effectsOf(e).stranger || !j.effectsOf(e).pure() && !neverNull(e)
		}) {
			return stays("coalesce")
		}
	case "greatest", "least", "max", "min":
		if len(c.Args) > 1 && !slices.ContainsFunc(c.Args, func(e tree.Expr) bool { return !self(e) && !t.stable(e) && !t.orItself(e, self) }) {
			return stays(c.Name)
		}
	case "nullif", "array_remove":
		if first && rest(1) {
			return stays(c.Name)
		}
		if in, ok := c.Args[0].(*tree.Call); ok && c.Name == "nullif" && in.Name == "coalesce" && len(in.Args) == 2 && self(in.Args[1]) && t.stable(in.Args[0]) && rest(1) {
			return stays("either the column is left, or it gets one value")
		}
	case "date_trunc":
		if len(c.Args) == 2 && self(c.Args[1]) && literal(c.Args[0]) != nil {
			return stays(c.Name)
		}
	case "abs", "lower", "upper", "trim", "btrim", "ltrim", "rtrim", "lcase", "ucase":
		if len(c.Args) != 1 {
			break
		}
		if in, ok := c.Args[0].(*tree.Call); first || ok && (c.Name == "lower" || c.Name == "upper") && (in.Name == "trim" || in.Name == "btrim") && len(in.Args) == 1 && self(in.Args[0]) {
			return stays(c.Name)
		}
	case "replace":
		if def := schema.Column(t.table, t.column(c.Args[0])); def == nil || typeOf(def.Type) != text {
			return unknown // a number becomes a text and a number again
		}
		if from, to := stringOf(c.Args, 1), stringOf(c.Args, 2); first && from != nil && to != nil && len([]rune(from.Text)) == 1 && !strings.Contains(strings.ToLower(to.Text), strings.ToLower(from.Text)) {
			return stays("replace of one character")
		}
	case "array_append":
		if in, ok := c.Args[0].(*tree.Call); ok && in.Name == "array_remove" && len(in.Args) == 2 && len(c.Args) == 2 && self(in.Args[0]) && tree.Text(in.Args[1]) == tree.Text(c.Args[1]) && t.stable(c.Args[1]) {
			return stays("the element is removed first")
		}
		if first {
			return moves("array_append adds an element")
		}
	case "array_prepend":
		return moves("array_prepend adds an element")
	case "json", "jsonb", "json_insert", "jsonb_insert", "json_patch", "jsonb_patch":
		return j.settledText(c, t, self, stays, moves, unknown)
	case "jsonb_set", "json_set":
		if first && len(c.Args) >= 3 && rest(1) && keysOnly(c.Args) {
			return j.inJSONB(c, t, stays(c.Name))
		}
	case "concat":
		if len(c.Args) > 1 {
			return moves("concat makes it longer")
		}
	}
	return unknown
}

// orItself reports whether an expression is coalesce(v, column), where v does not depend on the row.
func (t *target) orItself(e tree.Expr, self func(tree.Expr) bool) bool {
	c, ok := e.(*tree.Call)
	return ok && c.Name == "coalesce" && len(c.Args) == 2 && t.stable(c.Args[0]) && self(c.Args[1])
}

// keysOnly reports whether the paths of a function that sets parts of JSON name keys only: an element
// behind the end of an array is added each time.
func keysOnly(args []tree.Expr) bool {
	for i := 1; i < len(args); i += 2 {
		path := stringOf(args, i)
		if path == nil || strings.ContainsAny(path.Text, "[#*0123456789-") {
			return false
		}
	}
	return true
}

func stringOf(args []tree.Expr, n int) *tree.Literal {
	if n >= len(args) {
		return nil
	}
	if l := literal(args[n]); l != nil && l.Kind == tree.String {
		return l
	}
	return nil
}

// settledCase judges CASE … END whose results are the column itself, or are stable.
func (j *judge) settledCase(c *tree.Case, column string, t *target) Judgement {
	unknown := judged(CannotTell, Unproven, "CASE reads what the statement changes")
	if hasQuery(c) || !j.effectsOf(c).pure() {
		return unknown
	}
	self := func(e tree.Expr) bool { return e != nil && t.column(e) == column }
	if t.stepsAway(c, column) {
		return judged(Safe, SettledValue, "CASE changes "+column+" while it has one value, and gives it another")
	}
	results := []tree.Expr{c.Else}
	readsIt := len(t.readsWritten(c.Operand)) > 0
	var assumes []string
	for _, w := range c.Whens {
		results = append(results, w.Then)
		readsIt = readsIt || len(t.readsWritten(w.If)) > 0
	}
	for _, e := range results {
		if e == nil || self(e) || t.stable(e) {
			continue
		}
		if readsIt {
			return unknown
		}
		one := j.settledBranch(e, column, t, unknown)
		if one.Verdict != Safe {
			return one
		}
		assumes = append(assumes, one.Assumes...)
	}
	switch {
	case !readsIt: // the same branch each time
		res := judged(Safe, SettledValue, "each branch of CASE leaves "+column+" as it is, or sets it to a value of its own")
		res.Assumes = assumes
		return res
	case len(c.Whens) == 1 && self(c.Else) && onlyReads(t, c, column) && c.Operand == nil:
		return judged(Safe, SettledValue, "CASE either leaves "+column+" as it is, or sets it to one value")
	}
	return j.mapped(c, column, t, unknown)
}

// settledBranch judges a result of a CASE that takes the same branch each time.
func (j *judge) settledBranch(e tree.Expr, column string, t *target, unknown Judgement) Judgement {
	one := j.settled(e, column, t)
	if one.Verdict == Safe || one.Verdict == NotSafe {
		return one
	}
	if op, ok := e.(*tree.Op); ok && slices.Contains([]string{"+", "-", "*", "/", "||"}, op.Name) {
		return guardedBy(judged(NotSafe, RelativeValue, "each run changes "+column+" again, in a branch of CASE"), relativeGuard)
	}
	return unknown
}

func onlyReads(t *target, c *tree.Case, column string) bool {
	for _, w := range c.Whens {
		for _, name := range t.readsWritten(w.If) {
			if name != column {
				return false
			}
		}
	}
	return true
}

// mapped judges CASE column WHEN 1 THEN 2 WHEN 2 THEN 3 ELSE column END.
func (j *judge) mapped(c *tree.Case, column string, t *target, unknown Judgement) Judgement {
	if t.column(c.Operand) != column || t.column(c.Else) != column {
		return unknown
	}
	to := map[string]string{}
	for _, w := range c.Whens {
		from, result := literal(w.If), literal(w.Then)
		if number(from) == nil || number(result) == nil || !keeps(j.dialect, schema.Column(t.table, column), result) {
			return unknown
		}
		if _, twice := to[number(from).RatString()]; !twice {
			to[number(from).RatString()] = number(result).RatString()
		}
	}
	for _, result := range to {
		if next, ok := to[result]; ok && next != result {
			return guardedBy(judged(NotSafe, RelativeValue, "each run takes "+column+" one step on"), relativeGuard)
		}
	}
	return judged(Safe, SettledValue, "no branch of CASE leads to another one")
}
