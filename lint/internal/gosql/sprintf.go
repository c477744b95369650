package gosql

import (
	"go/ast"
	"go/types"
	"regexp"
	"strconv"
)

var verb = regexp.MustCompile(`%(?:\[(\d+)\])?([a-zA-Z%])|%`)

// sprintf evaluates fmt.Sprintf.
func (p *program) sprintf(format ast.Expr, args []ast.Expr, env *env) value {
	var out value
	for _, t := range p.eval(format, env).texts {
		out = union(out, p.formatted(t, args, env))
	}
	return out
}

// formatted puts arguments into one format. Behind a hole in it, no verb has a known argument.
func (p *program) formatted(format text, args []ast.Expr, env *env) value {
	out, next, lost, indexed, used := literal(""), 0, false, false, map[int]bool{}
	for _, piece := range format {
		if piece.hole != constant {
			out, lost = concat(out, value{texts: []text{{piece}}}), true
			continue
		}
		at := 0
		for _, m := range verb.FindAllStringSubmatchIndex(piece.text, -1) {
			out = concat(out, piece.cut(at, m[0]))
			at = m[1]
			switch {
			case m[4] < 0: // flags or a width: not followed
				out, lost = concat(out, unknown("a format of fmt.Sprintf")), true
				continue
			case piece.text[m[4]] == '%':
				out = concat(out, literal("%"))
				continue
			case m[2] >= 0:
				next, _ = strconv.Atoi(piece.text[m[2]:m[3]])
				next--
				indexed = true
			}
			if lost || next < 0 || next >= len(args) {
				out = concat(out, unknown("an argument of fmt.Sprintf"))
			} else {
				out = concat(out, p.argument(piece.text[m[4]], args[next], env))
				used[next] = true
			}
			next++
		}
		out = concat(out, piece.cut(at, len(piece.text)))
	}
	if !lost && !indexed && len(used) < len(args) { // with indexes, fmt prints nothing of those that are left
		out = concat(out, unknown("an argument that no verb takes"))
	}
	return out
}

// argument evaluates one argument of fmt.Sprintf.
func (p *program) argument(verb byte, arg ast.Expr, env *env) value {
	of := p.pass.TypesInfo.TypeOf(arg)
	switch {
	case (verb == 's' || verb == 'v') && isText(of) && !formats(of), (verb == 'd' || verb == 'v') && isWhole(of) && !formats(of):
		return p.eval(arg, env)
	case verb == 'q' && isText(of):
		s, ok := p.eval(arg, env).single()
		if !ok {
			return value{texts: []text{{{hole: quoted, why: describe(arg)}}}}
		}
		return literal(strconv.Quote(s))
	}
	return unknown(describe(arg))
}

// cut returns a piece of a constant.
func (p part) cut(from, to int) value {
	p.text, p.off = p.text[from:to], p.off+from
	return value{texts: []text{{p}}}
}

// formats reports whether a type says itself how fmt writes it.
func formats(t types.Type) bool {
	methods := types.NewMethodSet(t)
	for method := range methods.Methods() {
		switch method.Obj().Name() {
		case "String", "Error", "Format", "GoString":
			return true
		}
	}
	return false
}
