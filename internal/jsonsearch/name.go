package jsonsearch

import (
	"fmt"
	"slices"
	"strings"
)

// Name is the name of a field or member, cut into its parts.
type Name struct {
	text  string
	parts []string
}

// NameOf cuts a name into its parts.
func NameOf(text string) Name { return Name{text, namePath(text)} }

// String is the name as it is written.
func (n *Name) String() string { return n.text }

// ReadAs reports whether some applications read another name as the chosen one, or as a part of it: in another letter
// case (encoding/json, ASP.NET), as who[] and who[x] (PHP, Rack, Express), with spaces in front or cut off at a NUL (PHP).
// If so, the two have the same [Base], but for letter case.
func (n *Name) ReadAs(chosen *Name) bool {
	switch {
	case n.text == chosen.text:
		return false
	case !strings.ContainsAny(n.text, special):
		return strings.EqualFold(n.text, chosen.text)
	}
	return leads(n.parts, chosen.parts)
}

// Base returns the first part of a name like who[home][street].
func Base(name string) string {
	base, _ := cutBase(name)
	return base
}

// special are the characters at which applications cut names into parts.
const special = "[\x00 \t\r\n"

// leads reports whether the parts of a name begin with the wanted ones.
func leads(is, want []string) bool {
	return len(is) >= len(want) && slices.EqualFunc(is[:len(want)], want, strings.EqualFold)
}

// NameError refuses a name that an application may take for the one that counts.
func NameError(what, name, wanted string) *Error {
	return &Error{fmt.Sprintf("some applications read the %s %.80q as %.80q, and others do not (send one of the two names, or choose %.80q in the rule as well)",
		what, name, wanted, name)}
}

// namePath returns the parts of a name like who[home][street].
func namePath(name string) []string {
	base, rest := cutBase(name)
	path := []string{base}
	for rest != "" {
		var part string
		part, rest, _ = strings.Cut(rest, "]")
		path = append(path, strings.TrimPrefix(part, "["))
	}
	return path
}

func cutBase(name string) (base, rest string) {
	name, _, _ = strings.Cut(name, "\x00")
	base, rest, _ = strings.Cut(strings.TrimLeft(name, " \t\r\n["), "[")
	return strings.TrimRight(base, "]"), rest
}
