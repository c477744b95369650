package rules

import (
	"errors"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
	"github.com/semel-dev/semel/internal/rules/yamlfile"
)

// uniqueScope reads within what a rule holds: terms, or the word global.
func (r *reader) uniqueScope(n ast.Node) []Term {
	if word, ok := yamlfile.Literal(n); ok && word == "global" {
		return nil
	}
	return r.terms(n, "scope")
}

// terms reads one term or a list of them.
func (r *reader) terms(n ast.Node, what string) []Term {
	nodes := r.oneOrMore(n, what)
	if len(nodes) > maxTerms {
		r.Report(yamlfile.At(n), "name what makes the thing the same, and nothing else", "%s has %d terms, more than %d", what, len(nodes), maxTerms)
		return nil
	}
	var terms []Term
	for _, node := range nodes {
		if t, ok := r.term(node, what); ok {
			terms = append(terms, t)
		}
	}
	return terms
}

// term reads a column or an expression.
func (r *reader) term(n ast.Node, what string) (Term, bool) {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return r.raw(n, what)
	}
	text, ok := r.Text(n, "an element of "+what)
	if !ok {
		return Term{}, false
	}
	e, err := expression.Parse(text)
	if err != nil {
		r.wrongExpression(n, err)
		return Term{}, false
	}
	t := Term{Text: text, At: yamlfile.At(n), Columns: e.Columns(), Expr: e}
	t.Column, _ = e.Column()
	return t, true
}

// wrongExpression reports the error of an expression at its position.
func (r *reader) wrongExpression(n ast.Node, err error) {
	at := yamlfile.At(n)
	wrong, ok := errors.AsType[*expression.Error](err)
	if !ok {
		r.Report(at, "write it as the documentation of internal/rules/expression says", "%v", err)
		return
	}
	fix := wrong.Fix
	if strings.Count(wrong.Text, "(") != strings.Count(wrong.Text, ")") {
		fix = `in a list in brackets, put it in double quotes, such as ["coalesce(note, 'none')"]`
	}
	r.Report(at, fix, "%s: %s", yamlfile.Cut(wrong.Text), wrong.Message)
}

// raw reads an expression in the words of each dialect.
func (r *reader) raw(n ast.Node, what string) (Term, bool) {
	t := Term{At: yamlfile.At(n), Raw: map[dialect.Dialect]string{}}
	before := r.Count()
	fields := []yamlfile.Field{{"columns", func(n ast.Node) { t.Columns = r.columns(n, "columns") }}}
	for _, d := range dialect.All() {
		fields = append(fields, yamlfile.Field{d.String(), func(n ast.Node) {
			if text, ok := r.Text(n, d.String()); ok {
				if err := expression.CheckSQL(d, text); err != nil {
					r.wrongExpression(n, err)
				}
				t.Raw[d] = text
			}
		}})
	}
	found := r.Mapping(n, "an element of "+what, fields)
	if found == nil || r.Count() > before {
		return Term{}, false
	}
	if !found.Has("columns") {
		r.Report(t.At, "add columns: [...] with every column that the expression reads", "an expression in the words of a database does not say its columns")
		return Term{}, false
	}
	if len(t.Raw) == 0 {
		r.Report(t.At, `add the expression for each database you use, such as postgresql: "..."`, "an element of %s has columns and no expression", what)
		return Term{}, false
	}
	r.rawColumns(&t)
	return t, true
}

// rawColumns reports columns that the expressions do not read.
func (r *reader) rawColumns(t *Term) {
	for _, d := range dialect.All() {
		text, ok := t.Raw[d]
		if t.Text == "" {
			t.Text = text
		}
		for _, name := range t.Columns {
			if ok && !strings.Contains(strings.ToLower(text), strings.ToLower(name)) {
				r.Report(t.At, "name the columns that the expression reads, and no others", "%s does not read the column %q", d, yamlfile.Cut(name))
			}
		}
	}
}

// exceptions reads which rows do not count.
func (r *reader) exceptions(n ast.Node) []Exception {
	var all []Exception
	texts := r.Texts(n, "except")
	if len(texts) > maxExceptions {
		r.Report(yamlfile.At(n), "store in one column whether a row counts", "except has %d elements, more than %d", len(texts), maxExceptions)
		return nil
	}
	nodes := []ast.Node{n}
	if list, ok := n.(*ast.SequenceNode); ok {
		nodes = list.Values
	}
	for _, node := range nodes {
		text, ok := yamlfile.Literal(node)
		if !ok || text == "" {
			continue // texts has said so
		}
		c, err := expression.ParseException(text)
		if err != nil {
			r.wrongExpression(node, err)
			continue
		}
		e := Exception{At: yamlfile.At(node), Counts: c}
		if slices.ContainsFunc(all, func(o Exception) bool { return o.Counts == c }) {
			r.Report(e.At, "remove one of the two", "the exception %q is listed twice", yamlfile.Cut(text))
			continue
		}
		all = append(all, e)
	}
	return all
}
