package gocheck

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/semel-dev/semel/lint"
)

// order looks for retries around what makes the key of each attempt, and for keys in contexts, which make that right.
func (c *collector) order() {
	for _, file := range c.files() {
		c.summary.Intents = c.summary.Intents || c.namesIntents(file)
		chained := map[*ast.CallExpr]bool{}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if !chained[n] {
					c.chain(n, chained)
				}
				c.wrappedTransport(n.Fun, n.Args)
			case *ast.CompositeLit:
				c.wrappedTransport(n.Type, n.Elts)
			case *ast.AssignStmt:
				c.assignedTransport(n)
			}
			return true
		})
	}
}

// namesIntents reports whether a file puts the key of a wish into contexts or requests.
func (c *collector) namesIntents(file *ast.File) bool {
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			fn, ok := c.pass.TypesInfo.Uses[n].(*types.Func)
			if ok && fn.Pkg() != nil && strings.HasPrefix(fn.Pkg().Path(), module) && (strings.HasSuffix(fn.Name(), "Intent") || strings.HasSuffix(fn.Name(), "Key")) {
				found = true
			}
		case *ast.BasicLit:
			s, err := strconv.Unquote(n.Value)
			found = found || n.Kind == token.STRING && err == nil && strings.EqualFold(s, "Idempotency-Key")
		}
		return !found
	})
	return found
}

// chain looks at the interceptors of a gRPC client, from the outermost to the innermost.
func (c *collector) chain(call *ast.CallExpr, seen map[*ast.CallExpr]bool) {
	var first, then []ast.Expr
	parts := append([]ast.Expr{call}, call.Args...)
	for _, x := range parts {
		part, ok := ast.Unparen(x).(*ast.CallExpr)
		if !ok {
			continue
		}
		fn, ok := c.callee(part)
		if !ok || fn.Pkg() == nil || fn.Pkg().Path() != "google.golang.org/grpc" {
			continue
		}
		switch fn.Name() {
		case "WithUnaryInterceptor", "WithStreamInterceptor":
			first = append(first, part.Args...)
			seen[part] = true
		case "WithChainUnaryInterceptor", "WithChainStreamInterceptor":
			then = append(then, part.Args...)
			seen[part] = true
		}
	}
	var retry ast.Expr
	for _, x := range append(first, then...) {
		switch {
		case retry == nil && c.repeatsCalls(x):
			retry = x
		case retry != nil && c.makesKey(x):
			c.unkeyed(retry, x, "interceptor")
			return
		}
	}
}

// repeatsCalls reports whether an interceptor calls the next one again.
func (c *collector) repeatsCalls(x ast.Expr) bool {
	call, ok := ast.Unparen(x).(*ast.CallExpr)
	if !ok {
		return false
	}
	fn, ok := c.callee(call)
	if !ok || fn.Pkg() == nil {
		return false
	}
	path := fn.Pkg().Path()
	return strings.HasPrefix(path, "github.com/grpc-ecosystem/go-grpc-middleware") && strings.HasSuffix(path, "/retry")
}

// makesKey reports whether an interceptor gives each call a key of its own.
func (c *collector) makesKey(x ast.Expr) bool {
	found := false
	ast.Inspect(x, func(n ast.Node) bool {
		name, ok := n.(*ast.Ident)
		if !ok {
			return !found
		}
		fn, ok := c.pass.TypesInfo.Uses[name].(*types.Func)
		found = found || ok && fn.Pkg() != nil && strings.HasPrefix(fn.Pkg().Path(), module) && strings.HasSuffix(fn.Pkg().Path(), "/semelgrpc") && strings.Contains(fn.Name(), "Client")
		return !found
	})
	return found
}

// unkeyed notes a retry around what makes keys, until package main knows whether the keys come from elsewhere.
func (c *collector) unkeyed(retry, keys ast.Expr, kind string) {
	at := lineOf(c.pass.Fset, retry.Pos())
	f := lint.Finding{
		File: at.File, Line: at.Line, Column: at.Column, Text: short(types.ExprString(retry)), Verdict: lint.NotSafe, Rule: InterceptorOrder,
		Why:   "this " + kind + " repeats a request outside of the one that makes its key (" + lineOf(c.pass.Fset, keys.Pos()).String() + "): each attempt has another key, and the server takes it for another wish",
		Guard: "put the one that makes the key before the one that repeats, or make the key outside of both with semelhttp.NewIntent",
	}
	if reason, ok := c.sql.Answer(retry.Pos()); ok {
		f.Accept(reason)
	}
	c.summary.Unkeyed = append(c.summary.Unkeyed, located{Finding: f, pos: retry.Pos()})
}

// retryTransports are packages whose round trippers repeat requests that they hand to another round tripper.
func retryTransports() []string {
	return []string{retryClient, "github.com/PuerkitoBio/rehttp", "github.com/ybbus/httpretry", "github.com/gojektech/heimdall", "github.com/gojek/heimdall"}
}

func repeats(t types.Object) bool {
	return t != nil && t.Pkg() != nil && slices.Contains(retryTransports(), version.ReplaceAllString(t.Pkg().Path(), ""))
}

// wrappedTransport looks at what is handed to a transport that repeats: rehttp.NewTransport(&semelhttp.Transport{}, …).
func (c *collector) wrappedTransport(outer ast.Expr, inner []ast.Expr) {
	var name *ast.Ident
	switch x := outer.(type) {
	case *ast.SelectorExpr:
		name = x.Sel
	case *ast.Ident:
		name = x
	}
	if name == nil || !repeats(c.pass.TypesInfo.Uses[name]) {
		return
	}
	for _, x := range inner {
		if keys := c.transport(x, trail{}); keys != nil {
			c.unkeyed(outer, keys, "transport")
		}
	}
}

// assignedTransport looks at retryable.HTTPClient.Transport = &semelhttp.Transport{}.
func (c *collector) assignedTransport(s *ast.AssignStmt) {
	if len(s.Lhs) != len(s.Rhs) {
		return
	}
	for n, left := range s.Lhs {
		under := false
		for x, ok := left.(*ast.SelectorExpr); ok; x, ok = x.X.(*ast.SelectorExpr) {
			under = under || x.Sel.Name == "HTTPClient" && repeats(c.pass.TypesInfo.Uses[x.Sel])
		}
		if !under {
			continue
		}
		if keys := c.transport(s.Rhs[n], trail{}); keys != nil {
			c.unkeyed(left, keys, "client")
		}
	}
}

// transport returns the part of an expression that is a semelhttp.Transport.
func (c *collector) transport(x ast.Expr, followed trail) (found ast.Expr) {
	ast.Inspect(x, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok || found != nil {
			return found == nil
		}
		if t := c.pass.TypesInfo.TypeOf(e); t != nil && strings.TrimPrefix(types.TypeString(t, nil), "*") == module+"/semelhttp.Transport" && c.pass.TypesInfo.Types[e].IsValue() {
			found = e
		}
		if name, ok := e.(*ast.Ident); ok && found == nil && followed.follow(c.pass.TypesInfo.Uses[name]) {
			for _, value := range c.assigned[c.pass.TypesInfo.Uses[name]] {
				if c.transport(value, followed) != nil {
					found = e
				}
			}
		}
		return found == nil
	})
	return found
}
