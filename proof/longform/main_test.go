package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// Each way in which a test may come to a long form is found, and no other test.
func TestRun(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "module.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range archive.Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if err := run(dir, []string{"./..."}, &out); err != nil {
		t.Fatal(err)
	}
	want := "./limited ./main ./ways\n" +
		"^(ExampleLong|FuzzLong|TestDirect|TestEmbedded|TestHelper|TestInterface|TestKeys|TestMainIsLong|TestSequences|TestSnapshots|TestTable|TestUnexported)$\n" +
		"./walks\n^(TestWalk|TestWalkOfHelper)$\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	// A package that cannot be read might have had tests with a long form.
	if err := os.WriteFile(filepath.Join(dir, "ways", "broken_test.go"), []byte("package ways\n\nvar x = y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, []string{"./..."}, &out); err == nil || !strings.Contains(err.Error(), "undefined: y") {
		t.Errorf("got %v, want the package's error", err)
	}
}
