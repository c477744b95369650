package gocheck

import (
	"go/ast"
	"go/constant"
	"go/token"
	"slices"
)

// whenPosted follows the name of a handler for the part of it that POST, PUT and PATCH reach.
const whenPosted = "#posted"

// isUnsafe reports whether requests of a method may change something each time that they arrive.
func isUnsafe(name string) bool { return slices.Contains([]string{"POST", "PUT", "PATCH"}, name) }

// posted returns what a handler does when its request has one of those methods, or nil for a function that does not ask for
// the method.
func (c *collector) posted(t *ast.FuncType, body *ast.BlockStmt) *function {
	if body == nil || t.Params == nil {
		return nil
	}
	var parts []ast.Node
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SwitchStmt:
			if n.Tag == nil || !isMethodOf(n.Tag) {
				return true
			}
			parts = append(parts, c.cases(n)...)
			return false
		case *ast.IfStmt:
			compare, ok := ast.Unparen(n.Cond).(*ast.BinaryExpr)
			switch {
			case !ok || !isMethodOf(compare.X) || !c.namesUnsafe(compare.Y):
			case compare.Op == token.EQL:
				parts = append(parts, n.Body)
			case compare.Op == token.NEQ && leaves(n.Body): // the rest is for this method
				parts = append(parts, body)
			}
		}
		return true
	})
	if parts == nil {
		return nil
	}
	return c.scan(parts...)
}

// cases are the bodies of a switch for those methods.
func (c *collector) cases(s *ast.SwitchStmt) (parts []ast.Node) {
	for _, clause := range s.Body.List {
		cc, ok := clause.(*ast.CaseClause)
		if !ok || !slices.ContainsFunc(cc.List, c.namesUnsafe) {
			continue
		}
		for _, s := range cc.Body {
			parts = append(parts, s)
		}
	}
	return parts
}

// isMethodOf reports whether an expression is the method of a request.
func isMethodOf(x ast.Expr) bool {
	s, ok := ast.Unparen(x).(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Method"
}

func (c *collector) namesUnsafe(x ast.Expr) bool {
	s, ok := c.text(x)
	return ok && isUnsafe(s)
}

// text is the constant that an expression is.
func (c *collector) text(x ast.Expr) (string, bool) {
	v := c.pass.TypesInfo.Types[x].Value
	if v == nil || v.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(v), true
}

// leaves reports whether a block ends by leaving what is around it.
func leaves(b *ast.BlockStmt) bool {
	return b != nil && len(b.List) > 0 && leaving(b.List[len(b.List)-1])
}

func leaving(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return s.Tok == token.BREAK || s.Tok == token.CONTINUE || s.Tok == token.GOTO
	case *ast.BlockStmt:
		return leaves(s)
	case *ast.IfStmt:
		other, ok := s.Else.(*ast.BlockStmt)
		return ok && leaves(s.Body) && leaves(other)
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		return ok && slices.Contains([]string{"panic", "Fatal", "Fatalf", "Exit", "Panic", "Panicf"}, calledName(call))
	}
	return false
}
