package archtest_test

import (
	"path/filepath"
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/proof/archtest"
)

// TestRepository is the enforcement: it applies every rule to this checkout.
func TestRepository(t *testing.T) {
	t.Parallel()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	noError(t, err)
	tree, err := archtest.OpenTree(t.Context(), dir)
	noError(t, err)
	packages, err := archtest.ListPackages(t.Context(), dir)
	noError(t, err)

	t.Run("floors", func(t *testing.T) {
		t.Parallel()
		report(t, archtest.CheckFloors(archtest.Rooms(), packages))
		report(t, archtest.CheckRooms(archtest.Rooms(), packages))
	})
	t.Run("reach", func(t *testing.T) {
		t.Parallel()
		found, err := archtest.CheckReach(t.Context(), dir, tree, archtest.Reaches())
		noError(t, err)
		report(t, found)
	})
	t.Run("parsers", func(t *testing.T) {
		t.Parallel()
		report(t, archtest.CheckParsers(packages))
	})
	t.Run("shape", func(t *testing.T) {
		t.Parallel()
		found, err := archtest.CheckShape(tree)
		noError(t, err)
		report(t, found)
	})
	t.Run("text", func(t *testing.T) {
		t.Parallel()
		report(t, archtest.CheckText(tree, dir))
	})
	t.Run("prose", func(t *testing.T) {
		t.Parallel()
		report(t, archtest.CheckProse(tree, func(string) bool { return true }))
		report(t, archtest.CheckFashions(tree))
	})
	t.Run("citations", func(t *testing.T) {
		t.Parallel()
		report(t, archtest.CheckCitations(tree))
	})
	t.Run("recipes", func(t *testing.T) {
		t.Parallel()
		report(t, archtest.CheckRecipes(tree))
	})
	t.Run("dependencies", func(t *testing.T) {
		t.Parallel()
		dependencies, err := archtest.Dependencies(t.Context(), dir, tree)
		noError(t, err)
		report(t, archtest.CheckDependencies(tree, dependencies))
	})
}

func report(t *testing.T, found []archtest.Violation) {
	t.Helper()
	for _, violation := range found {
		t.Error(violation)
	}
}

var noError = claimtest.NoError
