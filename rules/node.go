package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/semel-dev/semel/internal/rules/spelling"
	"github.com/semel-dev/semel/internal/texts"
)

// maxProblems bounds the problems reported for one file.
const maxProblems = 100

// reader walks the nodes of one file and collects what is wrong with them.
type reader struct {
	file     string
	problems []Problem
}

func (r *reader) report(at Position, fix, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{File: r.file, Position: at, Message: fmt.Sprintf(format, args...), Fix: fix})
	}
}

// field is one key that a mapping may have, and what to do with its value.
type field struct {
	name string
	read func(ast.Node)
}

// present holds the positions of the keys that a mapping has.
type present map[string]Position

// has reports whether the mapping had the key.
func (p present) has(name string) bool {
	_, ok := p[name]
	return ok
}

// mapping reads a mapping that has no other keys than fields. what names it in
// messages. It returns nil when the node is not a mapping.
func (r *reader) mapping(n ast.Node, what string, fields []field) present {
	var entries []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		entries = n.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{n}
	default:
		r.report(position(n), "write its keys below it, indented: "+strings.Join(names(fields), ", "), "%s must be a mapping, not %s", what, describe(n))
		return nil
	}
	found := make(present, len(entries))
	for _, entry := range entries {
		r.entry(entry, what, fields, found)
	}
	return found
}

func (r *reader) entry(entry *ast.MappingValueNode, what string, fields []field, found present) {
	key, ok := entry.Key.(*ast.StringNode)
	if !ok {
		r.report(position(entry.Key), "use one of: "+strings.Join(names(fields), ", "), "a key of %s must be a plain word, not %s", what, describe(entry.Key))
		return
	}
	at := position(key)
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == key.Value })
	switch {
	case i < 0:
		fix := "known keys are: " + strings.Join(names(fields), ", ")
		r.report(at, spelling.Ask(spelling.Nearest(key.Value, names(fields)), fix), "unknown key %q in %s", cut(key.Value), what)
	case found.has(key.Value):
		r.report(at, "keep one of the two", "key %q is listed twice in %s, first on line %d", key.Value, what, found[key.Value].Line)
	default:
		found[key.Value] = at
		if empty(entry.Value) {
			r.report(at, "write a value, or remove the key", "%q in %s has no value", key.Value, what)
			return
		}
		fields[i].read(entry.Value)
	}
}

// sequence returns the elements of a list.
func (r *reader) sequence(n ast.Node, what string) []ast.Node {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		r.report(position(n), "write a list: each element on its own line after a dash", "%s must be a list, not %s", what, describe(n))
		return nil
	}
	if len(list.Values) == 0 {
		r.report(position(n), "add an element, or remove the key", "%s is an empty list", what)
	}
	return list.Values
}

// text reads a string that is not empty.
func (r *reader) text(n ast.Node, what string) (string, bool) {
	value, ok := literal(n)
	switch {
	case !ok:
		r.report(position(n), "put it in double quotes if it is meant as text", "%s must be text, not %s", what, describe(n))
		return "", false
	case value == "":
		r.report(position(n), "write a value, or remove the key", "%s is empty", what)
		return "", false
	}
	return value, true
}

// word reads a text of a certain form; it returns "" for any other.
func (r *reader) word(n ast.Node, what string, valid func(string) bool, fix, format string) string {
	value, ok := r.text(n, what)
	if ok && !valid(value) {
		r.report(position(n), fix, format, cut(value))
		return ""
	}
	return value
}

// texts reads one string or a list of strings, none twice.
func (r *reader) texts(n ast.Node, what string) []string {
	nodes := []ast.Node{n}
	if _, ok := literal(n); !ok {
		nodes = r.sequence(n, what)
	}
	var out []string
	for _, node := range nodes {
		value, ok := r.text(node, "an element of "+what)
		if ok && slices.Contains(out, value) {
			r.report(position(node), "remove one of the two", "%q is listed twice in %s", cut(value), what)
			continue
		}
		if ok {
			out = append(out, value)
		}
	}
	return out
}

// boolean reads true or false.
func (r *reader) boolean(n ast.Node, what string) bool {
	b, ok := n.(*ast.BoolNode)
	if !ok {
		r.report(position(n), "write true or false", "%s must be true or false, not %s", what, describe(n))
		return false
	}
	return b.Value
}

// yes reads a value that can only be true.
func (r *reader) yes(n ast.Node, what string) bool {
	b, ok := n.(*ast.BoolNode)
	if !ok || !b.Value {
		r.report(position(n), "write true, or remove the key", "%s can only be true", what)
		return false
	}
	return true
}

// choice reads one of a few words and returns its index.
func (r *reader) choice(n ast.Node, what string, words ...string) int {
	value, ok := literal(n)
	i := slices.Index(words, value)
	if ok && i >= 0 {
		return i
	}
	fix := "write one of: " + strings.Join(words, ", ")
	r.report(position(n), spelling.Ask(spelling.Nearest(value, words), fix), "%s is %s", what, describe(n))
	return 0
}

// integer reads a whole number from least to most.
func (r *reader) integer(n ast.Node, what string, least, most int) int {
	value := -1
	if i, ok := n.(*ast.IntegerNode); ok {
		switch v := i.Value.(type) {
		case int64:
			if v >= int64(least) && v <= int64(most) {
				value = int(v)
			}
		case uint64:
			if v <= uint64(most) && int(v) >= least { //nolint:gosec // most is an int, so v fits.
				value = int(v) //nolint:gosec // most is an int, so v fits.
			}
		}
	}
	if value < 0 {
		r.report(position(n), fmt.Sprintf("write a whole number from %d to %d", least, most), "%s is %s", what, describe(n))
	}
	return value
}

func names(fields []field) []string { return texts.Of(fields, func(f field) string { return f.name }) }

// literal returns the text of a string node.
func literal(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	}
	return "", false
}

func empty(n ast.Node) bool {
	if n == nil {
		return true
	}
	_, null := n.(*ast.NullNode)
	return null
}

// position returns where a node starts; the file's start when it does not say.
func position(n ast.Node) Position {
	at := Position{Line: 1, Column: 1}
	if empty(n) && n == nil {
		return at
	}
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return position(m.Values[0].Key)
	}
	if m, ok := n.(*ast.MappingValueNode); ok {
		return position(m.Key)
	}
	if token := n.GetToken(); token != nil && token.Position != nil {
		at.Line, at.Column = max(1, token.Position.Line), max(1, token.Position.Column)
	}
	return at
}

// describe says what a node is, for messages.
func describe(n ast.Node) string {
	if empty(n) {
		return "empty"
	}
	switch n := n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.BoolNode:
		return fmt.Sprintf("%v", n.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "the number " + cut(n.GetToken().Value)
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return "an anchor or alias, which are not read here"
	case *ast.TagNode:
		return "a tag, which are not read here"
	}
	if value, ok := literal(n); ok {
		return fmt.Sprintf("%q", cut(value))
	}
	return "something else"
}

// cut shortens what a message repeats of the file.
func cut(s string) string {
	const most = 60
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most]) + "…"
}
