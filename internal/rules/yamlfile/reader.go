package yamlfile

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

// Reader walks the nodes of one file and collects what is wrong with them.
type Reader struct {
	file     string
	problems []Problem
}

// Err returns an [*Error] with the problems so far, in the order of the file, or nil.
func (r *Reader) Err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return &Error{Problems: sorted(r.problems)}
}

// Count returns how many problems there are so far.
func (r *Reader) Count() int { return len(r.problems) }

// Report adds a problem, and what to do about it.
func (r *Reader) Report(at Position, fix, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{File: r.file, Position: at, Message: fmt.Sprintf(format, args...), Fix: fix})
	}
}

// Field is one key that a mapping may have, and what to do with its value. It is an alias, so that
// tables of fields need no names of them.
type Field = struct {
	Name string
	Read func(ast.Node)
}

// Present holds the positions of the keys that a mapping has.
type Present map[string]Position

// Has reports whether the mapping had the key.
func (p Present) Has(name string) bool {
	_, ok := p[name]
	return ok
}

// Mapping reads a mapping that has no other keys than fields. what names it in
// messages. It returns nil when the node is not a mapping.
func (r *Reader) Mapping(n ast.Node, what string, fields []Field) Present {
	var entries []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		entries = n.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{n}
	default:
		r.Report(At(n), "write its keys below it, indented: "+strings.Join(names(fields), ", "), "%s must be a mapping, not %s", what, Describe(n))
		return nil
	}
	found := make(Present, len(entries))
	for _, entry := range entries {
		r.entry(entry, what, fields, found)
	}
	return found
}

func (r *Reader) entry(entry *ast.MappingValueNode, what string, fields []Field, found Present) {
	key, ok := entry.Key.(*ast.StringNode)
	if !ok {
		r.Report(At(entry.Key), "use one of: "+strings.Join(names(fields), ", "), "a key of %s must be a plain word, not %s", what, Describe(entry.Key))
		return
	}
	at := At(key)
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == key.Value })
	switch {
	case i < 0:
		fix := "known keys are: " + strings.Join(names(fields), ", ")
		r.Report(at, spelling.Ask(spelling.Nearest(key.Value, names(fields)), fix), "unknown key %q in %s", Cut(key.Value), what)
	case found.Has(key.Value):
		r.Report(at, "keep one of the two", "key %q is listed twice in %s, first on line %d", key.Value, what, found[key.Value].Line)
	default:
		found[key.Value] = at
		if Empty(entry.Value) {
			r.Report(at, "write a value, or remove the key", "%q in %s has no value", key.Value, what)
			return
		}
		fields[i].Read(entry.Value)
	}
}

// Entry is one key of a mapping whose keys are free.
type Entry struct {
	Key   string
	At    Position
	Value ast.Node
}

// Entries reads a mapping whose keys are texts that the user chooses. It returns those that have a value.
func (r *Reader) Entries(n ast.Node, what string) (all []Entry) {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		r.Report(At(n), "write its keys below it, indented", "%s must be a mapping, not %s", what, Describe(n))
	}
	for _, one := range values {
		at := At(one.Key)
		key, ok := Literal(one.Key)
		before := slices.IndexFunc(all, func(e Entry) bool { return e.Key == key })
		switch {
		case !ok || key == "":
			r.Report(at, "put it in double quotes", "a key of %s must be text", what)
		case before >= 0:
			r.Report(at, "keep one of the two", "key %q is listed twice in %s, first on line %d", Cut(key), what, all[before].At.Line)
		case Empty(one.Value):
			r.Report(at, "write a value, or remove the key", "%q in %s has no value", Cut(key), what)
		default:
			all = append(all, Entry{key, at, one.Value})
		}
	}
	return all
}

// Sequence returns the elements of a list.
func (r *Reader) Sequence(n ast.Node, what string) []ast.Node {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		r.Report(At(n), "write a list: each element on its own line after a dash", "%s must be a list, not %s", what, Describe(n))
		return nil
	}
	if len(list.Values) == 0 {
		r.Report(At(n), "add an element, or remove the key", "%s is an empty list", what)
	}
	return list.Values
}

// Text reads a string that is not empty.
func (r *Reader) Text(n ast.Node, what string) (string, bool) {
	value, ok := Literal(n)
	switch {
	case !ok:
		r.Report(At(n), "put it in double quotes if it is meant as text", "%s must be text, not %s", what, Describe(n))
		return "", false
	case value == "":
		r.Report(At(n), "write a value, or remove the key", "%s is empty", what)
		return "", false
	}
	return value, true
}

// Word reads a text of a certain form; it returns "" for any other.
func (r *Reader) Word(n ast.Node, what string, valid func(string) bool, fix, format string) string {
	value, ok := r.Text(n, what)
	if ok && !valid(value) {
		r.Report(At(n), fix, format, Cut(value))
		return ""
	}
	return value
}

// Texts reads one string or a list of strings, none twice.
func (r *Reader) Texts(n ast.Node, what string) []string {
	nodes := []ast.Node{n}
	if _, ok := Literal(n); !ok {
		nodes = r.Sequence(n, what)
	}
	var out []string
	for _, node := range nodes {
		value, ok := r.Text(node, "an element of "+what)
		if ok && slices.Contains(out, value) {
			r.Report(At(node), "remove one of the two", "%q is listed twice in %s", Cut(value), what)
			continue
		}
		if ok {
			out = append(out, value)
		}
	}
	return out
}

// Boolean reads true or false.
func (r *Reader) Boolean(n ast.Node, what string) bool {
	b, ok := n.(*ast.BoolNode)
	if !ok {
		r.Report(At(n), "write true or false", "%s must be true or false, not %s", what, Describe(n))
		return false
	}
	return b.Value
}

// Yes reads a value that can only be true.
func (r *Reader) Yes(n ast.Node, what string) bool {
	b, ok := n.(*ast.BoolNode)
	if !ok || !b.Value {
		r.Report(At(n), "write true, or remove the key", "%s can only be true", what)
		return false
	}
	return true
}

// Choice reads one of a few words and returns its index.
func (r *Reader) Choice(n ast.Node, what string, words ...string) int {
	value, ok := Literal(n)
	i := slices.Index(words, value)
	if ok && i >= 0 {
		return i
	}
	fix := "write one of: " + strings.Join(words, ", ")
	r.Report(At(n), spelling.Ask(spelling.Nearest(value, words), fix), "%s is %s", what, Describe(n))
	return 0
}

// Integer reads a whole number from least to most.
func (r *Reader) Integer(n ast.Node, what string, least, most int) int {
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
		r.Report(At(n), fmt.Sprintf("write a whole number from %d to %d", least, most), "%s is %s", what, Describe(n))
	}
	return value
}

func names(fields []Field) []string { return texts.Of(fields, func(f Field) string { return f.Name }) }

// Literal returns the text of a string node.
func Literal(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	}
	return "", false
}

// Empty reports whether a value is missing.
func Empty(n ast.Node) bool {
	if n == nil {
		return true
	}
	_, null := n.(*ast.NullNode)
	return null
}

// At returns where a node starts; the file's start when it does not say.
func At(n ast.Node) Position {
	at := Position{Line: 1, Column: 1}
	if Empty(n) && n == nil {
		return at
	}
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return At(m.Values[0].Key)
	}
	if m, ok := n.(*ast.MappingValueNode); ok {
		return At(m.Key)
	}
	if token := n.GetToken(); token != nil && token.Position != nil {
		at.Line, at.Column = max(1, token.Position.Line), max(1, token.Position.Column)
	}
	return at
}

// Describe says what a node is, for messages.
func Describe(n ast.Node) string {
	if Empty(n) {
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
		return "the number " + Cut(n.GetToken().Value)
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return "an anchor or alias, which are not read here"
	case *ast.TagNode:
		return "a tag, which are not read here"
	}
	if value, ok := Literal(n); ok {
		return fmt.Sprintf("%q", Cut(value))
	}
	return "something else"
}

// Cut shortens what a message repeats of the file.
func Cut(s string) string {
	const most = 60
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most]) + "…"
}
