package rules

import (
	"github.com/goccy/go-yaml/ast"

	"github.com/semel-dev/semel/internal/rules/yamlfile"
)

// ScopeSource identifies a caller. Exactly one of
// its fields is set. What identifies the caller is hashed into the scope and
// never stored readable.
type ScopeSource struct {
	Header            string // the header of this name, such as Authorization
	Cookie            string // the cookie of this name
	ClientCertificate bool   // the verified TLS client certificate
	Constant          string // all callers are one, of this name
}

// scope reads one source or a list of sources; the first that a request has
// counts.
func (r *reader) scope(n ast.Node) []ScopeSource {
	nodes := r.oneOrMore(n, "scope")
	var sources []ScopeSource
	for i, node := range nodes {
		source := r.scopeSource(node)
		sources = append(sources, source)
		if source.Constant != "" && i < len(nodes)-1 {
			r.Report(yamlfile.At(node), "move it to the end of the list", "what follows the constant is never reached: every request has a constant")
		}
	}
	return sources
}

// oneOrMore returns the items of a list, or a single value.
func (r *reader) oneOrMore(n ast.Node, what string) []ast.Node {
	if _, ok := n.(*ast.SequenceNode); ok {
		return r.Sequence(n, what)
	}
	return []ast.Node{n}
}

func (r *reader) scopeSource(n ast.Node) ScopeSource {
	const cookieFix = "write the bare name of the cookie, such as sessionid"
	var s ScopeSource
	found := r.Mapping(n, "scope", []yamlfile.Field{
		{"header", func(n ast.Node) { s.Header = r.header(n, "scope header") }},
		{"cookie", func(n ast.Node) { s.Cookie = r.Word(n, "cookie", isToken, cookieFix, "%q is not a cookie name") }},
		{"client_certificate", func(n ast.Node) { s.ClientCertificate = r.Yes(n, "client_certificate") }},
		{"constant", func(n ast.Node) { s.Constant, _ = r.Text(n, "constant") }},
	})
	if found != nil && len(found) != 1 {
		r.Report(yamlfile.At(n), "write a list, one source after each dash, in the order to try them", "a scope source has %d keys, not one", len(found))
	}
	return s
}
