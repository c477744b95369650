package formfields

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/semel-dev/semel/internal/jsonsearch"
)

// Names are the names of fields that count. A stranger's form can have millions of others: one look into a map
// tells nearly all of them from each that counts.
type Names struct {
	names []fieldName
	bases map[string][]int // places in names, by what appendBase makes of them
}

// fieldName is a name as it is written and as PHP reads it, with underscores for dots, spaces and brackets that are never closed.
type fieldName struct{ plain, underscored jsonsearch.Name }

func fieldNameOf(text string) fieldName {
	return fieldName{jsonsearch.NameOf(text), jsonsearch.NameOf(underscored(text))}
}

// NamesOf returns the names, in their order.
func NamesOf(texts ...string) Names {
	f := Names{bases: map[string][]int{}}
	for i, text := range texts {
		f.names = append(f.names, fieldNameOf(text))
		for _, reading := range []string{text, underscored(text)} {
			base := string(appendBase(nil, reading))
			if !slices.Contains(f.bases[base], i) {
				f.bases[base] = append(f.bases[base], i)
			}
		}
	}
	return f
}

// Find returns the place of the name, or -1 for another one; alike are the places of names that some applications read in it.
func (f *Names) Find(name string) (place int, alike []int) {
	var room [64]byte
	maybe := f.bases[string(appendBase(room[:0], name))]
	if strings.ContainsAny(name, ". [") {
		maybe = slices.Concat(maybe, f.bases[string(appendBase(room[:0], underscored(name)))])
	}
	if len(maybe) == 0 {
		return -1, nil
	}
	place = -1
	is := fieldNameOf(name)
	for _, i := range maybe {
		switch chosen := &f.names[i]; {
		case chosen.plain.String() == name:
			place = i
		case is.readAs(chosen):
			alike = append(alike, i)
		}
	}
	return place, alike
}

// NameError refuses a name that some applications read as the one at the place.
func (f *Names) NameError(name string, place int) error {
	return jsonsearch.NameError("field", name, f.names[place].plain.String())
}

// readAs reports whether some applications read the field as the chosen one.
func (n *fieldName) readAs(chosen *fieldName) bool {
	return n.plain.ReadAs(&chosen.plain) || n.underscored.String() == chosen.underscored.String() || n.underscored.ReadAs(&chosen.underscored)
}

func underscored(name string) string {
	name = strings.TrimLeft(name, " ")
	if i := strings.IndexByte(name, '['); i > 0 && !strings.Contains(name[i:], "]") {
		name = strings.ReplaceAll(name, "[", "_")
	}
	return strings.ReplaceAll(strings.ReplaceAll(name, ".", "_"), " ", "_")
}

// appendBase appends the first part of a name, without letter case, and with underscores for dots and spaces.
func appendBase(to []byte, name string) []byte {
	for _, r := range jsonsearch.Base(name) {
		switch {
		case r == '.', r == ' ':
			r = '_'
		case 'a' <= r && r <= 'z':
			r -= 'a' - 'A'
		case r >= utf8.RuneSelf:
			for other := unicode.SimpleFold(r); other != r && r >= utf8.RuneSelf; other = unicode.SimpleFold(other) {
				r = min(r, other)
			}
		}
		to = utf8.AppendRune(to, r)
	}
	return to
}
