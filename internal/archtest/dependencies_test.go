package archtest_test

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/archtest"
)

func TestDependenciesNeedALineInTheDecisions(t *testing.T) {
	t.Parallel()
	const semel = archtest.Module
	texts := map[string]string{
		"go.mod": "module " + semel + "\n\ngo 1.26.0\n\nrequire (\n" +
			"\texample.com/accounted v1.0.0\n" +
			"\texample.com/bumped v1.1.0\n" +
			"\texample.com/imported v1.0.0 // indirect\n" +
			"\texample.com/imported/v2 v2.0.0 // indirect\n" +
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
	if err := os.CopyFS(dir, onDisk); err != nil {
		t.Fatal(err)
	}
	tree := treeOf(t, texts)
	packages := []archtest.Package{{ImportPath: semel + "/ids", XTestImports: []string{"example.com/imported/v2/part", "fmt"}}}
	dependencies, err := archtest.Dependencies(t.Context(), dir, tree, packages)
	if err != nil {
		t.Fatal(err)
	}

	const demand = " has no line in docs/decisions: say there why, under which licence, and how to leave it"
	want := []archtest.Violation{
		{Where: "go.mod", Rule: "`example.com/bumped` at `v1.1.0`" + demand},
		{Where: "go.mod", Rule: "`example.com/imported/v2` at `v2.0.0`" + demand},
		{Where: "tools/go.mod", Rule: "`example.com/tool` at `v1.3.0`" + demand},
		{Where: "web/package.json", Rule: "`idb` at `8.0.4`" + demand},
		{
			Where: "docs/decisions/0001-dependencies.md:4",
			Rule:  "`example.com/left` is no direct dependency any more: take its row away",
		},
	}
	if diff := cmp.Diff(want, archtest.CheckDependencies(tree, dependencies)); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}
