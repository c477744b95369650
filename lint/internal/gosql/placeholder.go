package gosql

import (
	"fmt"
	"go/ast"
	"go/types"
	"hash/crc32"
	"regexp"
	"strings"
)

var (
	dollar = regexp.MustCompile(`[$]\d+`)
	// oneOrMore matches a placeholder, and a row of them.
	oneOrMore = regexp.MustCompile(`^(?:[?]|[$]\d+|\((?:[?]|[$]\d+)(?:\s*,\s*(?:[?]|[$]\d+))*\))$`)
	// spread matches a placeholder for a list, which sqlx writes out.
	spread = regexp.MustCompile(`(?i)\b(in\s*\(\s*[?])(\s*\))`)
)

// placeholders returns the list of placeholders that a loop adds to a text: two of them, or of their rows, show what
// any number does.
func (p *program) placeholders(v *types.Var, all []change, e *env, c *changes, within ast.Node) (list value, ok bool) {
	one := ""
	for _, change := range all {
		if change.pos < within.Pos() || change.pos >= within.End() {
			continue
		}
		if change.added == nil || p.varies(change.what, v, c, within) {
			return value{}, false
		}
		s, ok := numbered(change.added(e))
		if !ok {
			return value{}, false
		}
		s = strings.Trim(s, ", \t\n")
		switch {
		case s == "":
		case !oneOrMore.MatchString(s) || one != "" && one != s:
			return value{}, false
		default:
			one = s
		}
	}
	return literal(apart(one+", "+one, strings.Count(key(e.vars[v]), "$8"))), one != ""
}

func key(v value) string {
	var b strings.Builder
	for _, t := range v.texts {
		b.WriteString(t.key())
	}
	return b.String()
}

// apart gives each placeholder of a list a number of its own, of those that no program uses.
func apart(list string, next int) string {
	return dollar.ReplaceAllStringFunc(list, func(string) string {
		next++
		return fmt.Sprintf("$8%04d", next)
	})
}

// varies reports whether a text that is added in a loop holds one that the loop changes.
func (p *program) varies(what ast.Node, own *types.Var, c *changes, within ast.Node) (found bool) {
	ast.Inspect(what, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return !found
		}
		v, ok := p.pass.TypesInfo.ObjectOf(id).(*types.Var)
		if !ok || isBuilder(v.Type()) && v == own || isWhole(v.Type()) {
			return !found
		}
		for _, one := range c.at[v] {
			found = found || one.pos >= within.Pos() && one.pos < within.End()
		}
		return !found
	})
	return found
}

// numbered returns the only text that a value can have, with 1 for each number that is not known.
func numbered(v value) (string, bool) {
	if len(v.texts) != 1 || v.self {
		return "", false
	}
	var b strings.Builder
	for _, part := range v.texts[0] {
		switch part.hole { //nolint:exhaustive // the others are not known.
		case constant:
			b.WriteString(part.text)
		case number:
			b.WriteString("1")
		default:
			return "", false
		}
	}
	return b.String(), true
}

// isPlaceholders is a fact about a function that returns a list of placeholders, however long its arguments make it.
type isPlaceholders struct{ List string }

// AFact implements [analysis.Fact].
func (*isPlaceholders) AFact() {}

// String implements [fmt.Stringer].
func (f *isPlaceholders) String() string { return "isPlaceholders(" + f.List + ")" }

// exportPlaceholders makes the functions of the package that return lists of placeholders known to others.
func (p *program) exportPlaceholders() {
	for fn := range p.decls {
		s := fn.Signature()
		if !fn.Exported() || s.Recv() != nil || s.Params().Len() == 0 || s.Results().Len() != 1 || !isText(s.Results().At(0).Type()) {
			continue
		}
		counts := true
		for param := range s.Params().Variables() {
			counts = counts && isWhole(param.Type())
		}
		if !counts {
			continue
		}
		if v, ok := p.inline(fn, &ast.CallExpr{}, nil); ok {
			if list := p.listOfPlaceholders(v); list != "" {
				p.pass.ExportObjectFact(fn, &isPlaceholders{list})
			}
		}
	}
}

// listOfPlaceholders returns the longest text of a value if all are lists of placeholders, or of none.
func (*program) listOfPlaceholders(v value) (list string) {
	for _, t := range v.texts {
		s, ok := numbered(value{texts: []text{t}})
		inner := strings.TrimSuffix(strings.TrimPrefix(s, "("), ")")
		for one := range strings.SplitSeq(inner, ",") {
			one = strings.TrimSpace(one)
			ok = ok && (one == "" || oneOrMore.MatchString(one))
		}
		if !ok {
			return ""
		}
		if len(s) > len(list) {
			list = s
		}
	}
	if !strings.ContainsAny(list, "?$") {
		return ""
	}
	return list
}

// ofPackages evaluates a call of a function of another package that returns a list of placeholders.
func (p *program) ofPackages(fn *types.Func, call *ast.CallExpr) (value, bool) {
	fact := new(isPlaceholders)
	if fn.Pkg() == nil || fn.Pkg() == p.pass.Pkg || !p.pass.ImportObjectFact(fn, fact) {
		return value{}, false
	}
	return literal(apart(fact.List, int(crc32.ChecksumIEEE([]byte(describe(call)))%5000))), true // other arguments, other numbers
}
