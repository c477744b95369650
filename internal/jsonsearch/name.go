package jsonsearch

import (
	"fmt"
	"slices"
	"strings"
)

// ReadAs reports whether some applications read a field or member of this name as the chosen one, or as
// a part of it: another letter case (encoding/json, ASP.NET), who[] and who[x] (PHP, Rack, Express),
// spaces in front and what follows a NUL (PHP).
func ReadAs(name, chosen string) bool {
	switch {
	case name == chosen:
		return false
	case !strings.ContainsAny(name, special):
		return strings.EqualFold(name, chosen)
	}
	return leads(namePath(name), namePath(chosen))
}

// special are the characters at which applications cut names into parts.
const special = "[\x00 \t\r\n"

// leads reports whether the parts of a name begin with those that are wanted.
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
	name, _, _ = strings.Cut(name, "\x00")
	name = strings.TrimLeft(name, " \t\r\n[")
	base, rest, _ := strings.Cut(name, "[")
	path := []string{strings.TrimRight(base, "]")}
	for rest != "" {
		var part string
		part, rest, _ = strings.Cut(rest, "]")
		path = append(path, strings.TrimPrefix(part, "["))
	}
	return path
}
