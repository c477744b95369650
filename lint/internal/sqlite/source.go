package sqlite

import (
	"github.com/sqlc-dev/meyer/ast"

	"github.com/semel-dev/semel/lint/internal/tree"
)

// from translates FROM. SQLite joins from left to right, and its comma binds like JOIN; only a list
// with nothing but commas is left as a list.
func (t *translator) from(list []*ast.TableRef) []tree.Source {
	if len(list) > maxDepth {
		t.fail("too many tables in one query")
		return nil
	}
	plain := true
	var all []tree.Source
	for i, ref := range list {
		all = append(all, t.source(ref))
		constrained := ref.On != nil || ref.Using != nil
		plain = plain && !constrained && (i == 0 || ref.Join.Type&ast.JoinComma != 0)
		if i == 0 && constrained {
			t.fail("ON without a join")
		}
	}
	if plain {
		return all
	}
	joined := all[0]
	for i, ref := range list[1:] {
		joined = t.join(joined, all[i+1], ref)
	}
	return []tree.Source{joined}
}

func (t *translator) join(left, right tree.Source, ref *ast.TableRef) tree.Source {
	kind := ref.Join.Type
	j := &tree.Join{
		Left: left, Right: right, On: t.expr(ref.On), Using: idents(ref.Using), Natural: kind&ast.JoinNatural != 0,
	}
	outer := kind & (ast.JoinLeft | ast.JoinRight)
	switch {
	case !knownJoin(ref.Join):
		t.fail("an unknown kind of join")
	case outer == ast.JoinLeft|ast.JoinRight:
		j.Kind = "full"
	case outer == ast.JoinLeft:
		j.Kind = "left"
	case outer == ast.JoinRight:
		j.Kind = "right"
	case j.On != nil || j.Using != nil || j.Natural:
		j.Kind = "inner"
	default:
		j.Kind = "cross"
	}
	return j
}

// knownJoin reports whether SQLite accepts the words of a join, which the parser does not check.
func knownJoin(op *ast.JoinOperator) bool {
	for _, word := range op.Words {
		switch fold(word) {
		case "natural", "left", "right", "full", "outer", "inner", "cross", "join":
		default:
			return false
		}
	}
	kind := op.Type
	outer := kind&ast.JoinOuter != 0
	return !outer || kind&ast.JoinInner == 0 && kind&(ast.JoinLeft|ast.JoinRight) != 0
}

func (t *translator) source(ref *ast.TableRef) tree.Source {
	as := ident(ref.Alias)
	t.reserve(as)
	defer func() { t.depth-- }()
	if !t.enter() {
		return nil
	}
	switch {
	case ref.Select != nil:
		return &tree.Derived{Query: t.query(ref.Select), As: as}
	case ref.List != nil:
		return t.nested(ref.List, as)
	}
	name := objectName(ref.Name)
	if ref.HasArgs {
		return &tree.Function{Call: &tree.Call{Schema: name.Schema, Name: name.Name, Args: t.exprs(ref.Args)}, As: as}
	}
	t.reserve(name.Name)
	if name.Schema == "" {
		t.tables = append(t.tables, name.Name)
	}
	return &tree.TableRef{Name: name, As: as}
}

// nested translates tables in parentheses. With an alias they are a query of their own.
func (t *translator) nested(list []*ast.TableRef, as string) tree.Source {
	sources := t.from(list)
	if as != "" {
		return &tree.Derived{
			Query: &tree.Select{Items: []tree.Item{{Expr: &tree.Star{}}}, From: sources},
			As:    as,
		}
	}
	if len(sources) == 0 {
		return nil
	}
	joined := sources[0]
	for _, one := range sources[1:] {
		joined = &tree.Join{Kind: "cross", Left: joined, Right: one}
	}
	return joined
}
