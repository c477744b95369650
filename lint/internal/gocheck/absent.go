package gocheck

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
)

var (
	saysMissing = regexp.MustCompile(`(?i)no_?rows|not_?found|not_?exist`)
	saysPresent = regexp.MustCompile(`(?i)exist|found|taken|has|dup|present|known|already|^ok$`)
	saysNot     = regexp.MustCompile(`(?i)not|free|avail|absent|missing|unique|new|empty|unused|^no[A-Z]|^un`)
	saysCount   = regexp.MustCompile(`(?i)count|total|cnt|^num`)
	saysID      = regexp.MustCompile(`(?i)id$|uuid$|key$`)
	asksCount   = regexp.MustCompile(`(?i)\bcount\s*\(`)
	asksExists  = regexp.MustCompile(`(?i)\bexists\s*\(`)
)

// outcome returns the lookups that found nothing when a condition is true, and those when it is false. What cannot be told
// is in neither.
func (i *inserts) outcome(cond ast.Expr) (yes, no []*lookup) {
	switch x := ast.Unparen(cond).(type) {
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			no, yes = i.outcome(x.X)
		}
		return yes, no
	case *ast.BinaryExpr:
		return i.combined(x)
	case *ast.CallExpr:
		return i.asked(x)
	case *ast.Ident: // a bool
		l := i.bound[i.pass.TypesInfo.Uses[x]]
		if l != nil && present(x.Name, l) {
			return nil, []*lookup{l}
		}
	}
	return nil, nil
}

// combined is [inserts.outcome] for two conditions, or a comparison.
func (i *inserts) combined(x *ast.BinaryExpr) (yes, no []*lookup) {
	if x.Op != token.LAND && x.Op != token.LOR {
		return i.compared(x)
	}
	a, notA := i.outcome(x.X)
	b, notB := i.outcome(x.Y)
	if x.Op == token.LAND {
		return without(append(a, b...), append(notA, notB...)), nil
	}
	return nil, without(append(notA, notB...), append(a, b...))
}

// without returns the lookups of a that are not in b: err != nil && err != sql.ErrNoRows says that something was found, or
// nothing at all.
func without(a, b []*lookup) []*lookup {
	return slices.DeleteFunc(a, func(l *lookup) bool { return slices.Contains(b, l) })
}

// present reports whether a bool of a name says that a row was found.
func present(name string, l *lookup) bool {
	if saysNot.MatchString(name) {
		return false
	}
	return saysPresent.MatchString(name) || asksExists.MatchString(l.text) && !strings.Contains(strings.ToLower(l.text), "not exists")
}

// asked is [inserts.outcome] for a call: errors.Is(err, sql.ErrNoRows), rows.Next(), isTaken(name).
func (i *inserts) asked(call *ast.CallExpr) (yes, no []*lookup) {
	name := calledName(call)
	if l := i.lookup(call); l != nil {
		if present(name, l) {
			return nil, []*lookup{l}
		}
		return nil, nil
	}
	if s, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && name == "Next" && len(call.Args) == 0 {
		if l := i.variable(s.X); l != nil {
			return nil, []*lookup{l}
		}
	}
	if len(call.Args) == 0 {
		return nil, nil
	}
	l := i.variable(call.Args[0])
	if l == nil || !isError(i.pass.TypesInfo.TypeOf(call.Args[0])) {
		return nil, nil
	}
	if saysMissing.MatchString(name) || name == "Is" && len(call.Args) == 2 && saysMissing.MatchString(types.ExprString(call.Args[1])) {
		return []*lookup{l}, nil
	}
	return nil, nil
}

// variable returns the lookup behind x, or behind a field of x.
func (i *inserts) variable(x ast.Expr) *lookup {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		return i.bound[i.pass.TypesInfo.Uses[x]]
	case *ast.SelectorExpr:
		return i.variable(x.X)
	}
	return nil
}

func isError(t types.Type) bool {
	return t != nil && types.Identical(t, types.Universe.Lookup("error").Type())
}

// compared is [inserts.outcome] for a comparison.
func (i *inserts) compared(x *ast.BinaryExpr) (yes, no []*lookup) {
	what, l := i.measured(x.X)
	if l == nil {
		return nil, nil
	}
	empty, full := i.limits(x, what)
	switch {
	case empty:
		return []*lookup{l}, nil
	case full:
		return nil, []*lookup{l}
	}
	return nil, nil
}

// measured returns what is compared: "error", "value" (nil or not), "number" or "id".
func (i *inserts) measured(x ast.Expr) (what string, l *lookup) {
	x = ast.Unparen(x)
	if call, ok := x.(*ast.CallExpr); ok && calledName(call) == "len" && len(call.Args) == 1 {
		return "number", i.variable(call.Args[0])
	}
	l = i.variable(x)
	if l == nil {
		return "", nil
	}
	t := i.pass.TypesInfo.TypeOf(x)
	name := types.ExprString(x)
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case u.Info()&types.IsNumeric != 0 && (saysCount.MatchString(name) || asksCount.MatchString(l.text)):
			return "number", l
		case saysID.MatchString(name):
			return "id", l
		}
		return "", nil
	default:
		if isError(t) {
			return "error", l
		}
	}
	return "value", l
}

// limits reports whether a comparison is true for what was not found, or false for it.
func (i *inserts) limits(x *ast.BinaryExpr, what string) (empty, full bool) {
	equal, differs := x.Op == token.EQL, x.Op == token.NEQ
	isNil, value := i.pass.TypesInfo.Types[x.Y].IsNil(), i.pass.TypesInfo.Types[x.Y].Value
	switch what {
	case "error":
		if isNil { // any error, and so also that nothing was found
			return differs, equal
		}
		missing := saysMissing.MatchString(types.ExprString(x.Y))
		return missing && equal, missing && differs
	case "value":
		return isNil && equal, isNil && differs
	case "id":
		zero := value != nil && (value.Kind() == constant.String && constant.StringVal(value) == "" || value.ExactString() == "0")
		return zero && equal, zero && differs
	}
	if value == nil || what != "number" {
		return false, false
	}
	switch value.ExactString() {
	case "0":
		return equal || x.Op == token.LEQ, differs || x.Op == token.GTR
	case "1":
		return x.Op == token.LSS, x.Op == token.GEQ
	}
	return false, false
}
