package semelhttp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/semel-dev/semel"
)

// readAs reports whether some applications read a field or member of this name as the chosen one, or as
// a part of it: another letter case (encoding/json, ASP.NET), who[] and who[x] (PHP, Rack, Express),
// spaces in front and what follows a NUL (PHP).
func readAs(name, chosen string) bool {
	switch {
	case name == chosen:
		return false
	case !strings.ContainsAny(name, "[\x00 \t\r\n"):
		return strings.EqualFold(name, chosen)
	}
	is, want := namePath(name), namePath(chosen)
	return len(is) >= len(want) && slices.EqualFunc(is[:len(want)], want, strings.EqualFold)
}

// fieldReadAs is readAs for the field of a form, where PHP also takes dots and spaces for underscores.
func fieldReadAs(name, chosen string) bool {
	if name == chosen || readAs(name, chosen) {
		return name != chosen
	}
	if !strings.ContainsAny(name, ". ") && !strings.ContainsAny(chosen, ". ") {
		return false
	}
	name, chosen = underscored(name), underscored(chosen)
	return name == chosen || readAs(name, chosen)
}

func underscored(name string) string {
	return strings.NewReplacer(".", "_", " ", "_").Replace(strings.TrimLeft(name, " "))
}

// nameError refuses a name that an application may take for the one that counts.
func nameError(what, name, wanted string) error {
	return fmt.Errorf("%w: some applications read the %s %.80q as %.80q, and others do not (send one of the two names, or choose %.80q in the rule as well)",
		semel.ErrKeyInvalid, what, name, wanted, name)
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
