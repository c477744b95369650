package archtest_test

import (
	"testing"

	"github.com/semel-dev/semel/proof/archtest"
)

func TestRecipes(t *testing.T) {
	t.Parallel()
	tree := treeOf(t, map[string]string{
		"CONTRIBUTING.md": "`gone.go`\n\n## Recipes for changes\n\n1. `store/`, `store/claim.sql` and `floors.go`.\n" +
			"2. Run `go test ./gone` on `Claim`, a `semel.Store`.\n\n## Tools\n\n`gone/too.go`\n",
		"store/claim.sql": "SELECT 1;\n",
	})
	wantViolations(t, archtest.CheckRecipes(tree), "CONTRIBUTING.md:5: a recipe names floors.go, which is gone: name the place that has taken over its part")
	if found := archtest.CheckRecipes(treeOf(t, map[string]string{"CONTRIBUTING.md": "# Contributing\n"})); len(found) != 1 {
		t.Errorf("a page without recipes: got %v, want one violation", found)
	}
}
