package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMutantsAreFound: the text of every mutant is in its file once, and the
// first level of its tests in the package; so a change of the code that leaves
// a mutant behind is seen at once.
func TestMutantsAreFound(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	seen := map[string]bool{}
	for _, m := range mutants() {
		if seen[m.mechanism] {
			t.Errorf("two mutants are called %q", m.mechanism)
		}
		seen[m.mechanism] = true
		text, err := os.ReadFile(filepath.Join(root, m.file))
		if n := strings.Count(string(text), m.old); err != nil || n != 1 || m.old == m.with {
			t.Errorf("%s: its text is in %s %d times, %v; want once, and another text in its place", m.mechanism, m.file, n, err)
		}
		if m.server != "" && serverNames()[m.server] == "" {
			t.Errorf("%s: no server belongs to the variable %q", m.mechanism, m.server)
		}
		if m.promise < 1 || m.promise > 10 {
			t.Errorf("%s: promise %d does not exist", m.mechanism, m.promise)
		}
		for _, name := range m.tests {
			first, _, _ := strings.Cut(name, "/")
			if !declared(t, filepath.Join(root, m.pkg), first) {
				t.Errorf("%s: %s has no %s", m.mechanism, m.pkg, first)
			}
		}
	}
}

func declared(t *testing.T, dir, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+test+"(t *testing.T)") {
			return true
		}
	}
	return false
}

// TestTableIsComplete: the table of the guarantees has a row for each mutant.
func TestTableIsComplete(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants() {
		if row := fmt.Sprintf("\n| %s | %d | `%s` | `Test", m.mechanism, m.promise, m.file); !strings.Contains(string(page), row) {
			t.Errorf("docs/guarantees.md has no row %q (run make mutate, and copy what it prints)", strings.TrimSpace(row))
		}
	}
}

// TestDriftIsLoud: a text that is not there, or is there twice, is an error.
func TestDriftIsLoud(t *testing.T) {
	t.Parallel()
	copied := &tree{dir: t.TempDir()}
	file := filepath.Join(copied.dir, "a.go")
	if err := os.WriteFile(file, []byte("one two two"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, old := range []string{"two", "three"} {
		if _, err := copied.replace("a.go", old, ""); err == nil || !strings.Contains(err.Error(), "DRIFTED") {
			t.Errorf("%q: got %v, want an error", old, err)
		}
	}
	undo, err := copied.replace("a.go", "one ", "")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "two two" {
		t.Errorf("replaced: %q, %v", text, err)
	}
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "one two two" {
		t.Errorf("taken back: %q, %v", text, err)
	}
}

// TestUsage: what makes no sense, or would prove nothing, is refused.
func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-only", "("}, {"-only", "no such mechanism"}, {"-workers", "0"}, {"-sample", "-1"}, {"claims"}} {
		var said bytes.Buffer
		if code := run(t.Context(), args, &said, &said); code < 2 || said.Len() == 0 {
			t.Errorf("%v: exit code %d and %q, want a refusal", args, code, said.String())
		}
	}
}
