package archtest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/proof/archtest"
)

// TestSize holds the repository to its ceilings; with -v it prints what it measured.
func TestSize(t *testing.T) {
	t.Parallel()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	noError(t, err)
	tree, err := archtest.OpenTree(t.Context(), dir)
	noError(t, err)
	size, err := archtest.Measure(tree)
	noError(t, err)
	t.Logf("sizes and their ceilings\n%s", size)
	report(t, archtest.CheckSize(size))
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	size, err := archtest.Measure(treeOf(t, map[string]string{
		"a.go":                 "package a\n\nconst (\n\tA, b = 1, 2\n)\n\ntype T struct{}\n\nfunc (T) Method() {}\n\nfunc F() {}\n",
		"a_windows.go":         "package a\n\nfunc F() {}\n",
		"a_test.go":            "package a\n\nfunc Tested() {}\n",
		"b/b.go":               "package b\n\nvar V int\n",
		"b/internal/c/c.go":    "package c\n\nvar V int\n",
		"cmd/d/main.go":        "package main\n\nvar V int\n",
		"examples/e/e.go":      "package e\n\nvar V int\n",
		"testdata/g/broken.go": "package\n",
	}))
	noError(t, err)
	want := archtest.Size{
		Exported: map[string]int{".": 3, "b": 1}, RootLines: 14,
		Lines: map[string]int{".": 20, "cmd": 3, "examples": 3}, Tests: map[string]int{".": 3},
	}
	if diff := cmp.Diff(want, size); diff != "" {
		t.Errorf("size (-want +got):\n%s", diff)
	}
	size.Lines["."] = 1_000_000
	if found := archtest.CheckSize(size); len(found) != 1 || !strings.Contains(found[0].String(), "lines of Go without tests in .: 1000000, at most") {
		t.Errorf("got %v, want one violation", found)
	}
	if _, err := archtest.Measure(treeOf(t, map[string]string{"broken.go": "package"})); err == nil {
		t.Error("Measure accepted a file that does not parse")
	}
}
