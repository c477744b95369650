package envelope

import (
	"bytes"
	"encoding"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"sync"
)

// shape tells what JSON does to the values of a type.
type shape struct {
	untyped bool // an interface within takes any JSON: its numbers are json.Number
	exact   bool // a value comes back equal, unless a string within is not UTF-8
}

// shapes remembers the shapes of types, of which a program has a bounded number.
//
//nolint:gochecknoglobals // see above
var shapes sync.Map

func shapeOf(t reflect.Type) shape {
	if known, ok := shapes.Load(t); ok {
		return known.(shape) //nolint:forcetypeassert,errcheck // nothing else is stored
	}
	s := shape{exact: true}
	s.look(t, map[reflect.Type]bool{})
	shapes.Store(t, s)
	return s
}

// look adds what JSON does to a type, and to all within it.
func (s *shape) look(t reflect.Type, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	switch kind := t.Kind(); {
	case decides(t):
		s.exact = false
	case scalar(kind):
	case kind == reflect.Map:
		s.look(t.Key(), seen)
		s.look(t.Elem(), seen)
	case kind == reflect.Slice, kind == reflect.Array:
		s.look(t.Elem(), seen)
	case kind == reflect.Pointer: // one to nil comes back as nil
		s.exact = s.exact && (scalar(t.Elem().Kind()) || t.Elem().Kind() == reflect.Struct || t.Elem().Kind() == reflect.Array)
		s.look(t.Elem(), seen)
	case kind == reflect.Struct:
		s.lookInto(t, seen)
	default:
		s.exact, s.untyped = false, s.untyped || kind == reflect.Interface
	}
}

// lookInto adds the fields of a struct. In doubt they are not exact.
func (s *shape) lookInto(t reflect.Type, seen map[reflect.Type]bool) {
	names := map[string]bool{}
	for f := range t.Fields() {
		name, omit, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		whole := omit == "" || (omit == "omitempty" || omit == "omitzero") && (scalar(f.Type.Kind()) || f.Type.Kind() == reflect.Pointer) && f.Type.NumMethod() == 0
		s.exact = s.exact && whole && f.IsExported() && !f.Anonymous && name != "-" && !names[name]
		names[name] = true
		s.look(f.Type, seen)
	}
}

func scalar(k reflect.Kind) bool {
	return k >= reflect.Bool && k <= reflect.Float64 || k == reflect.String
}

// decides reports whether a type defines its form in JSON.
func decides(t reflect.Type) bool {
	for _, form := range []reflect.Type{
		reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler](),
		reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
	} {
		if t.Kind() != reflect.Interface && (t.Implements(form) || reflect.PointerTo(t).Implements(form)) {
			return true
		}
	}
	return t == reflect.TypeFor[json.Number]()
}

// Decode reads JSON into v. A number that no type claims becomes a [json.Number], which loses no digit.
func Decode[T any](data []byte, v *T) error {
	if !shapeOf(reflect.TypeFor[T]()).untyped {
		return json.Unmarshal(data, v)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return json.Unmarshal(data, v) // which says what follows
	}
	return nil
}
