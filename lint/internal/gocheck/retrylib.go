package gocheck

import (
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/lint"
)

// retryLibrary is one whose functions call another function again.
type retryLibrary struct {
	path  string // of the package, without a version
	names []string
	// marks are the names by which the function says which errors are final; asks says that only marked ones are repeated.
	marks []string
	asks  bool
}

func retryLibraries() []retryLibrary {
	return []retryLibrary{
		{path: "github.com/cenkalti/backoff", names: []string{"Retry", "RetryNotify", "RetryWithData", "RetryNotifyWithData"}, marks: []string{"Permanent", "PermanentError"}},
		{path: "github.com/avast/retry-go", names: []string{"Do", "DoWithData"}, marks: []string{"Unrecoverable", "RetryIf"}},
		{path: "github.com/sethvargo/go-retry", names: []string{"Do", "DoValue", "Constant", "Exponential", "Fibonacci"}, marks: []string{"RetryableError"}, asks: true},
	}
}

var (
	version    = regexp.MustCompile(`/v\d+$`)
	classifies = regexp.MustCompile(`^(Is|As|AsType|SQLState|Code|Number)$|(?i)retryable|transient|temporary|serialization|deadlock|unique|duplicate`)
)

const retryClient = "github.com/hashicorp/go-retryablehttp"

// repeated reports a call of a retry library whose function makes a write that is not safe, and marks no error as final.
func (c *collector) repeated(g *graph, call *ast.CallExpr) {
	fn, ok := c.callee(call)
	if !ok || fn.Pkg() == nil {
		return
	}
	path := version.ReplaceAllString(fn.Pkg().Path(), "")
	if path == retryClient {
		c.posts(call, fn)
		return
	}
	for _, lib := range retryLibraries() {
		if lib.path == path && slices.Contains(lib.names, fn.Name()) {
			c.byLibrary(g, call, lib)
		}
	}
}

func (c *collector) byLibrary(g *graph, call *ast.CallExpr, lib retryLibrary) {
	var operation ast.Node
	for _, x := range call.Args {
		if operation == nil {
			operation = c.operation(x)
		}
	}
	if operation == nil || c.marks(operation, lib.marks) != lib.asks || !lib.asks && c.marks(call, lib.marks) || c.tellsApart(operation, lib.marks) {
		return
	}
	ast.Inspect(operation, func(n ast.Node) bool {
		inner, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if w, ok := c.unsafe(g, inner); ok {
			c.reportRetry(inner, w, lib.path+" at "+lineOf(c.pass.Fset, call.Pos()).String())
			return false
		}
		return true
	})
}

// operation returns the function that an argument is, if its code is known here.
func (c *collector) operation(x ast.Expr) ast.Node {
	switch x := ast.Unparen(x).(type) {
	case *ast.FuncLit:
		return x.Body
	case *ast.Ident:
		v, ok := c.pass.TypesInfo.Uses[x].(*types.Var)
		if !ok || len(c.assigned[v]) != 1 {
			return nil
		}
		if literal, ok := ast.Unparen(c.assigned[v][0]).(*ast.FuncLit); ok {
			return literal.Body
		}
	case *ast.CallExpr: // backoff.Operation(func() error {…})
		if c.pass.TypesInfo.Types[x.Fun].IsType() && len(x.Args) == 1 {
			return c.operation(x.Args[0])
		}
	}
	return nil
}

// marks reports whether one of the names is mentioned.
func (c *collector) marks(n ast.Node, names []string) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		name, ok := n.(*ast.Ident)
		found = found || ok && slices.Contains(names, name.Name)
		return !found
	})
	return found
}

// tellsApart reports whether a function asks which error it was, other than by calling one of the names.
func (c *collector) tellsApart(n ast.Node, but []string) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		found = found || ok && !slices.Contains(but, calledName(call)) && classifies.MatchString(calledName(call))
		return !found
	})
	return found
}

// posts reports a request of hashicorp/go-retryablehttp that may change something and carries no key.
func (c *collector) posts(call *ast.CallExpr, fn *types.Func) {
	method := ""
	switch fn.Name() {
	case "Post", "PostForm":
		method = "POST"
	case "NewRequest", "NewRequestWithContext":
		for _, x := range call.Args {
			if s, ok := c.text(x); ok && (s == "POST" || s == "PATCH") {
				method = s
			}
		}
	}
	if method == "" || c.choosesRetries() {
		return
	}
	at := lineOf(c.pass.Fset, call.Pos())
	c.findings = append(c.findings, located{pos: call.Pos(), Finding: lint.Finding{
		File: at.File, Line: at.Line, Column: at.Column, Text: short(types.ExprString(call)), Verdict: lint.CannotTell, Rule: RetryLoop,
		Why:   "go-retryablehttp sends this " + method + " again after errors and 5xx answers, without an Idempotency-Key: the server cannot tell a repetition from a second wish",
		Guard: "set an Idempotency-Key on the request, or use semelhttp.Transport",
	}})
}

// choosesRetries reports whether the package chooses what is sent again, or sends keys.
func (c *collector) choosesRetries() bool {
	return slices.ContainsFunc(c.files(), func(f *ast.File) bool {
		return c.guarded(f) || c.marks(f, []string{"CheckRetry", "RetryMax"}) || slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool {
			return strings.Contains(i.Path.Value, module+"/semelhttp")
		})
	})
}
