package gocheck

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/semel-dev/semel"

// isGuard reports whether a function makes what it is given happen once: one of Semel's, one that the options name, or
// one whose name says so.
func (c *collector) isGuard(fn *types.Func) bool {
	if fn.Pkg() == nil {
		return false
	}
	path, isSemel := strings.CutPrefix(fn.Pkg().Path(), module)
	if isSemel && fn.Pkg().Path() != c.pass.Pkg.Path() && guardsIn(path, fn.Name()) {
		return true
	}
	return saysOnce(fn.Name()) || slices.Contains(c.guards, fn.Pkg().Path()+"."+fn.Name()) || slices.Contains(c.guards, fn.Pkg().Path()+"."+strings.NewReplacer("(", "", "*", "", ")", "").Replace(nameOf(fn)))
}

// guardsIn reports whether a name is that of a guard in a package of Semel.
func guardsIn(path, name string) bool {
	if strings.HasPrefix(name, "New") || name == "Open" {
		return false
	}
	switch {
	case path == "":
		return slices.Contains([]string{"Do", "DoTx", "Begin", "BeginTx", "ClaimFrom", "TxClaimFrom", "FenceFrom"}, name)
	case path == "/semelhttp":
		return name == "Handler"
	case path == "/flow":
		return slices.Contains([]string{"Start", "Accept", "Tx", "Call", "Finish", "Each"}, name)
	case strings.HasPrefix(path, "/store/"):
		return slices.Contains([]string{"Do", "Run", "Exec", "Join", "TxFrom", "SQLTxFrom"}, name)
	}
	return path == "/inbox" || path == "/dbguard" || strings.HasSuffix(path, "/semelgrpc") || strings.HasPrefix(path, "/adapters/")
}

// saysOnce reports whether a name or a text is about idempotency.
func saysOnce(s string) bool { return strings.Contains(strings.ToLower(s), "idempoten") }

// guarded reports whether something below a node is a guard, or is about idempotency.
func (c *collector) guarded(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			fn, ok := c.pass.TypesInfo.Uses[n].(*types.Func)
			found = found || saysOnce(n.Name) || ok && c.isGuard(fn)
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				s, err := strconv.Unquote(n.Value)
				found = found || err == nil && saysOnce(s)
			}
		}
		return !found
	})
	return found
}

// makesHandler reports whether a function returns a handler, a middleware or an interceptor.
func makesHandler(fn *types.Func) bool {
	for result := range fn.Signature().Results().Variables() {
		if isHandler(result.Type()) {
			return true
		}
	}
	return false
}

// isHandler reports whether a type is a function, or serves HTTP.
func isHandler(t types.Type) bool {
	if _, ok := t.Underlying().(*types.Signature); ok {
		return true
	}
	return servesHTTP(t) != nil
}

// servesHTTP returns the method of a type that serves requests.
func servesHTTP(t types.Type) *types.Func {
	object, _, _ := types.LookupFieldOrMethod(t, true, nil, "ServeHTTP")
	fn, _ := object.(*types.Func)
	if fn == nil || fn.Signature().Params().Len() != 2 {
		return nil
	}
	return fn
}
