package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// kind is the type of a value.
type kind int

const (
	kindNone kind = iota // not there
	kindNull
	kindBool
	kindNumber
	kindText
	kindArray
	kindObject
)

// value is a part of a JSON or YAML document, with its members in order. Its methods may be called on nil, which is an
// absent value.
type value struct {
	kind    kind
	line    int
	scalar  string // of a boolean, number or text
	items   []*value
	keys    []string
	members map[string]*value
}

func newText(s string) *value   { return &value{kind: kindText, scalar: s} }
func newNumber(s string) *value { return &value{kind: kindNumber, scalar: s} }
func newObject() *value         { return &value{kind: kindObject, members: map[string]*value{}} }

func (v *value) is(k kind) bool { return v.kindOf() == k }

func (v *value) kindOf() kind {
	if v == nil {
		return kindNone
	}
	return v.kind
}

func (v *value) get(name string) *value {
	if v == nil {
		return nil
	}
	return v.members[name]
}

// set replaces a member, or adds it at the end.
func (v *value) set(name string, member *value) {
	if _, ok := v.members[name]; !ok {
		v.keys = append(v.keys, name)
	}
	v.members[name] = member
}

// text returns the text of a scalar, and nothing for other values.
func (v *value) text() string {
	if v == nil {
		return ""
	}
	return v.scalar
}

func (v *value) lineOf() int {
	if v == nil {
		return 0
	}
	return v.line
}

func (v *value) list() []*value {
	if v == nil {
		return nil
	}
	return v.items
}

func (v *value) names() []string {
	if v == nil {
		return nil
	}
	return v.keys
}

func (v *value) truth() bool { return v.is(kindBool) && v.scalar == "true" }

func (v *value) float() (f float64, ok bool) {
	if !v.is(kindNumber) {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.scalar, 64)
	return f, err == nil
}

// encode writes the value as JSON, without white space, up to MaxBytes.
func (v *value) encode(b *bytes.Buffer) error {
	if b.Len() > MaxBytes {
		return fmt.Errorf("the body is larger than %d MiB: give your own body", MaxBytes>>20)
	}
	switch v.kindOf() {
	case kindNone, kindNull:
		b.WriteString("null")
	case kindBool, kindNumber:
		b.WriteString(v.scalar)
	case kindText:
		writeText(b, v.scalar)
	case kindArray:
		for i, item := range v.items {
			b.WriteString(opening('[', i))
			if err := item.encode(b); err != nil {
				return err
			}
		}
		b.WriteString(closing("[]", len(v.items)))
	case kindObject:
		for i, name := range v.keys {
			b.WriteString(opening('{', i))
			writeText(b, name)
			b.WriteByte(':')
			if err := v.members[name].encode(b); err != nil {
				return err
			}
		}
		b.WriteString(closing("{}", len(v.keys)))
	}
	return nil
}

func opening(bracket byte, i int) string {
	if i > 0 {
		return ","
	}
	return string([]byte{bracket})
}

func closing(brackets string, n int) string {
	if n == 0 {
		return brackets
	}
	return brackets[1:]
}

// writeText writes a JSON string without the escapes that are for HTML.
func writeText(b *bytes.Buffer, s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) //nolint:errchkjson // a text can always be written.
	b.Truncate(b.Len() - len("\n"))
}

// maxNesting limits the nesting of documents.
const maxNesting = 500

func parseJSON(data []byte) (*value, error) {
	p := &jsonParser{decoder: json.NewDecoder(bytes.NewReader(data))}
	p.decoder.UseNumber()
	for i, c := range data {
		if c == '\n' {
			p.breaks = append(p.breaks, i)
		}
	}
	root, err := p.value(0)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", p.line(), err)
	}
	return root, nil
}

type jsonParser struct {
	decoder *json.Decoder
	breaks  []int // where the lines end
}

func (p *jsonParser) line() int {
	at, _ := slices.BinarySearch(p.breaks, int(p.decoder.InputOffset()))
	return at + 1
}

func (p *jsonParser) value(depth int) (*value, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("the document is nested deeper than %d", maxNesting)
	}
	token, err := p.decoder.Token()
	if err != nil {
		return nil, err
	}
	v := &value{line: p.line()}
	switch t := token.(type) {
	case json.Delim:
		return v, p.fill(v, t, depth)
	case string:
		v.kind, v.scalar = kindText, t
	case json.Number:
		v.kind, v.scalar = kindNumber, t.String()
	case bool:
		v.kind, v.scalar = kindBool, strconv.FormatBool(t)
	default:
		v.kind = kindNull
	}
	return v, nil
}

func (p *jsonParser) fill(v *value, opened json.Delim, depth int) error {
	v.kind = kindArray
	if opened == '{' {
		v.kind, v.members = kindObject, map[string]*value{}
	}
	for p.decoder.More() {
		name := ""
		if v.kind == kindObject {
			token, err := p.decoder.Token()
			if err != nil {
				return err
			}
			name, _ = token.(string)
		}
		member, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		if v.kind == kindObject {
			v.set(name, member)
		} else {
			v.items = append(v.items, member)
		}
	}
	_, err := p.decoder.Token() // the closing bracket
	return err
}

// at follows a JSON pointer (RFC 6901).
func (v *value) at(pointer string) (*value, error) {
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch v.kindOf() {
		case kindObject:
			v = v.get(step)
		case kindArray:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v.items) {
				return nil, errors.New("nothing is there")
			}
			v = v.items[i]
		case kindNone, kindNull, kindBool, kindNumber, kindText:
			return nil, errors.New("nothing is there")
		}
	}
	if v == nil {
		return nil, errors.New("nothing is there")
	}
	return v, nil
}
