package archtest_test

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/semel-dev/semel/proof/archtest"
)

func TestDependenciesNeedALineInTheDecisions(t *testing.T) {
	t.Parallel()
	const semel = archtest.Module
	texts := map[string]string{
		"go.mod": "module " + semel + "\n\ngo 1.26.0\n\nrequire (\n" +
			"\texample.com/accounted v1.0.0\n" +
			"\texample.com/bumped v1.1.0\n" +
			"\texample.com/indirect v1.0.0 // indirect\n)\n",
		"tools/go.mod": "module " + semel + "/tools\n\ngo 1.26.0\n\ntool example.com/tool/cmd/tool\n\n" +
			"require (\n\texample.com/tool v1.3.0 // indirect\n\texample.com/indirect v1.0.0 // indirect\n)\n",
		"web/package.json": `{"dependencies": {"idb": "8.0.4"}, "devDependencies": {"@scope/known": "1.2.3"}}`,
		"docs/decisions/0001-dependencies.md": "| `example.com/accounted` | `v1.0.0` |\n" +
			"| `example.com/bumped` | `v1.0.0` |\n| `@scope/known` | `1.2.3` |\n" +
			"| `example.com/left` | `v1.0.0` |\n",
		"docs/other.md": "| `idb` | `8.0.4` |\n",
	}
	dir := t.TempDir()
	onDisk := make(fstest.MapFS, len(texts))
	for name, text := range texts {
		onDisk[name] = &fstest.MapFile{Data: []byte(text)}
	}
	noError(t, os.CopyFS(dir, onDisk))
	tree := treeOf(t, texts)
	dependencies, err := archtest.Dependencies(t.Context(), dir, tree)
	noError(t, err)

	const demand = " has no line in docs/decisions: say there why, under which licence, and how to leave it"
	wantViolations(
		t, archtest.CheckDependencies(tree, dependencies),
		"go.mod: `example.com/bumped` at `v1.1.0`"+demand,
		"tools/go.mod: `example.com/tool` at `v1.3.0`"+demand,
		"web/package.json: `idb` at `8.0.4`"+demand,
		"docs/decisions/0001-dependencies.md:4: `example.com/left` no longer is a direct dependency: remove its row",
	)
}
