package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxValues limits the values of a YAML document, including the copies of its merge keys.
const maxValues = 4 << 20

// parseYAML reads the first YAML document.
func parseYAML(data []byte) (*value, error) {
	if line := tooDeep(data); line > 0 {
		return nil, fmt.Errorf("line %d: the document is nested deeper than %d", line, maxNesting)
	}
	tree, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		if syntax, ok := errors.AsType[yaml.Error](err); ok && syntax.GetToken() != nil && syntax.GetToken().Position != nil {
			return nil, fmt.Errorf("line %d: %s", syntax.GetToken().Position.Line, syntax.GetMessage())
		}
		return nil, errors.New(strings.ReplaceAll(err.Error(), "\n", " "))
	}
	for _, doc := range tree.Docs {
		if doc.Body != nil {
			p := &yamlParser{anchors: map[string]*value{}, left: maxValues}
			return p.value(doc.Body, 0)
		}
	}
	return nil, errors.New("the document is empty")
}

// tooDeep returns the line at which brackets are nested too deep, or that has too many characters that may nest; 0 if
// there is none. The parser recurses, and takes quadratic time. Texts may have unbalanced brackets and such characters,
// so the limit leaves room for those.
func tooDeep(data []byte) int {
	line, brackets, marks := 1, 0, 0
	for i, c := range data {
		switch c {
		case '[', '{':
			brackets++
		case ']', '}':
			brackets = max(0, brackets-1)
		case '!', '&':
			marks++
		case '-', '?', ':':
			if i+1 < len(data) && data[i+1] == ' ' {
				marks++
			}
		case '\n':
			line, marks = line+1, 0
		}
		if max(brackets, marks) > 8*maxNesting {
			return line
		}
	}
	return 0
}

type yamlParser struct {
	anchors map[string]*value
	left    int // the values that are still allowed
}

func (p *yamlParser) value(n ast.Node, depth int) (*value, error) {
	p.left--
	if depth > maxNesting || p.left < 0 {
		return nil, fmt.Errorf("line %d: the document is nested deeper than %d, or has more than %d values", lineOf(n), maxNesting, maxValues)
	}
	v := &value{line: lineOf(n)}
	switch n := n.(type) {
	case *ast.MappingNode:
		v.kind, v.members = kindObject, map[string]*value{}
		return v, p.members(v, n.Values, depth)
	case *ast.MappingValueNode:
		v.kind, v.members = kindObject, map[string]*value{}
		return v, p.members(v, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		v.kind = kindArray
		for _, entry := range n.Values {
			item, err := p.value(entry, depth+1)
			if err != nil {
				return nil, err
			}
			v.items = append(v.items, item)
		}
	case *ast.AnchorNode:
		held, err := p.value(n.Value, depth+1)
		if err == nil && n.Name != nil {
			p.anchors[n.Name.GetToken().Value] = held
		}
		return held, err
	case *ast.AliasNode:
		held := p.anchors[n.Value.GetToken().Value]
		if held == nil {
			return nil, fmt.Errorf("line %d: the alias *%s has no anchor before it", v.line, n.Value.GetToken().Value)
		}
		return held, nil
	case *ast.TagNode:
		return p.value(n.Value, depth+1)
	default:
		v.scalarOf(n)
	}
	return v, nil
}

// scalarOf reads a value that is neither an object nor an array.
func (v *value) scalarOf(n ast.Node) {
	switch n := n.(type) {
	case *ast.StringNode:
		v.kind, v.scalar = kindText, n.Value
	case *ast.LiteralNode:
		v.kind, v.scalar = kindText, n.Value.Value
	case *ast.BoolNode:
		v.kind, v.scalar = kindBool, strconv.FormatBool(n.Value)
	case *ast.IntegerNode:
		v.kind, v.scalar = kindNumber, fmt.Sprint(n.Value)
	case *ast.FloatNode:
		v.kind, v.scalar = kindNumber, n.GetToken().Value
		if !json.Valid([]byte(v.scalar)) {
			v.scalar = strconv.FormatFloat(n.Value, 'g', -1, 64)
		}
		if math.IsInf(n.Value, 0) || math.IsNaN(n.Value) {
			v.kind, v.scalar = kindNull, ""
		}
	default: // null, and values that JSON lacks: .inf and .nan
		v.kind = kindNull
	}
}

func (p *yamlParser) members(v *value, entries []*ast.MappingValueNode, depth int) error {
	for _, entry := range entries {
		member, err := p.value(entry.Value, depth+1)
		if err != nil {
			return err
		}
		if _, merge := entry.Key.(*ast.MergeKeyNode); !merge {
			v.set(keyOf(entry.Key), member)
			continue
		}
		from := member.list()
		if member.is(kindObject) {
			from = []*value{member}
		}
		for _, other := range from {
			for _, name := range other.names() {
				if p.left--; p.left < 0 {
					return fmt.Errorf("line %d: the document has more than %d values", lineOf(entry), maxValues)
				}
				if v.get(name) == nil {
					v.set(name, other.get(name))
				}
			}
		}
	}
	return nil
}

// keyOf returns the text of a key, which may be a number, such as a status.
func keyOf(n ast.MapKeyNode) string {
	if s, ok := n.(*ast.StringNode); ok {
		return s.Value
	}
	if token := n.GetToken(); token != nil {
		return token.Value
	}
	return ""
}

func lineOf(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	return n.GetToken().Position.Line
}
