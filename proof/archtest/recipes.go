package archtest

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// cookbook is the page with the recipes, below [recipes].
const (
	cookbook = "CONTRIBUTING.md"
	recipes  = "## Recipes"
)

// place matches a path in backquotes: it has a slash, or an extension.
var place = regexp.MustCompile("`([\\w.-]+(?:/[\\w.-]*)+|[\\w-]+\\.(?:go|md|sql|lua|ts|sh|yaml))`")

// CheckRecipes returns every file or folder that a recipe names and the tree does not have, and a page without recipes.
func CheckRecipes(tree Tree) []Violation {
	var found []Violation
	number, within, some := 0, false, false
	for line := range bytes.Lines(tree.files[cookbook]) {
		number++
		if bytes.HasPrefix(line, []byte("## ")) {
			within = bytes.HasPrefix(line, []byte(recipes))
			some = some || within
		}
		if !within {
			continue
		}
		for _, match := range place.FindAllSubmatch(line, -1) {
			if name := strings.TrimSuffix(string(match[1]), "/"); !tree.has(name) {
				found = append(found, Violation{
					Where: fmt.Sprintf("%s:%d", cookbook, number),
					Rule:  fmt.Sprintf("a recipe names %s, which is gone: name the place that has taken over its part", name),
				})
			}
		}
	}
	if !some {
		found = append(found, Violation{Where: cookbook, Rule: "has no heading " + recipes + ": say there what a new store, door or check needs"})
	}
	return found
}
