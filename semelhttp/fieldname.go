package semelhttp

import (
	"fmt"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/jsonsearch"
)

// fieldReadAs is jsonsearch.ReadAs for the field of a form, where PHP also takes dots and spaces for underscores.
func fieldReadAs(name, chosen string) bool {
	if name == chosen || jsonsearch.ReadAs(name, chosen) {
		return name != chosen
	}
	if !strings.ContainsAny(name, ". ") && !strings.ContainsAny(chosen, ". ") {
		return false
	}
	name, chosen = underscored(name), underscored(chosen)
	return name == chosen || jsonsearch.ReadAs(name, chosen)
}

func underscored(name string) string {
	return strings.NewReplacer(".", "_", " ", "_").Replace(strings.TrimLeft(name, " "))
}

// nameError refuses a name that an application may take for the one that counts.
func nameError(what, name, wanted string) error {
	return fmt.Errorf("%w: %w", semel.ErrKeyInvalid, jsonsearch.NameError(what, name, wanted))
}
