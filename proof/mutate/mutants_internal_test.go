package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
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
			if !declared(filepath.Join(root, m.pkg), first) {
				t.Errorf("%s: %s has no %s", m.mechanism, m.pkg, first)
			}
		}
	}
}

func declared(dir, test string) bool {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	return err == nil && slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "\nfunc "+test+"(t *testing.T)")
	})
}

// TestTableIsComplete: noticed.md has a row for each mutant, with a test of its own that failed and the seconds
// of that run, and no other rows.
func TestTableIsComplete(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("noticed.md")
	if err != nil {
		t.Fatal(err)
	}
	const hint = "run make mutate MUTANT=…, which writes the rows"
	_, table, _ := strings.Cut(string(page), tableHead)
	runs := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^(\\| .+ \\| \\d+ \\| `[^`]+`) \\| (.*)$").FindAllStringSubmatch(table, -1) {
		runs[row[1]] = append(runs[row[1]], row[2])
	}
	for _, m := range mutants() {
		row := m.rowHead()
		found := runs[row]
		delete(runs, row)
		if len(found) != 1 {
			t.Errorf("noticed.md has %d rows %q, want one (%s)", len(found), row, hint)
			continue
		}
		test, seconds, _ := strings.Cut(strings.TrimSuffix(found[0], " |"), "` | ")
		if _, err := strconv.ParseFloat(seconds, 64); err != nil || !slices.ContainsFunc(m.tests, func(name string) bool {
			return strings.HasPrefix(test+"/", "`"+name+"/")
		}) {
			t.Errorf("noticed.md: row %q has %q, want one of %v and its seconds (%s)", row, found[0], m.tests, hint)
		}
	}
	for row := range runs {
		t.Errorf("noticed.md: no mutant belongs to row %q (%s)", row, hint)
	}
}

// TestKeep: what was noticed gets its row in the order of mutants.txt, what was not keeps the one it had, and no row stays of a
// mutant that is gone.
func TestKeep(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "noticed.md")
	all := mutants()[:3]
	was := "# Page\n\n" + tableHead + all[2].rowHead() + " | `TestOld` | 3.0 |\n| gone | 1 | `gone.go` | `TestGone` | 1.0 |\n" + all[1].rowHead() + " | `TestOld` | 2.0 |\n"
	if err := os.WriteFile(file, []byte(was), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := keep(file, []result{
		{mutant: all[0], failed: []string{"TestNew"}, took: time.Second},
		{mutant: all[1], failed: []string{"TestNew"}, took: time.Second},
		{mutant: all[2], err: os.ErrInvalid},
	}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	want := "# Page\n\n" + tableHead + all[0].rowHead() + " | `TestNew` | 1.0 |\n" + all[1].rowHead() + " | `TestNew` | 1.0 |\n" + all[2].rowHead() + " | `TestOld` | 3.0 |\n"
	if err != nil || string(text) != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, text, want)
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
