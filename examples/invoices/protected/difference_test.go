package protected_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/diff"
)

var update = flag.Bool("update", false, "rewrite ../PROTECTED.md")

const (
	lessonFile     = "../PROTECTED.md"
	maxLessonLines = 360
	maxDifferent   = 230 // lines of the files that both have
	maxAdded       = 290 // lines of code and rules that only the protected one has
)

// layer is one chapter of the lesson.
type layer struct {
	title, says string
	parts       []part
}

// part is a hunk of the difference that has the text, or, of a file that only the
// protected application has, a function, a section or all of it.
type part struct {
	file, has, says string
	told            bool // and not shown
}

// TestDifference writes the lesson from the sources: every hunk has its sentence,
// and the whole stays readable.
func TestDifference(t *testing.T) {
	t.Parallel()
	hunks := hunksByFile(t)
	var text strings.Builder
	text.WriteString(introduction(t, hunks))
	for _, l := range lesson() {
		fmt.Fprintf(&text, "\n## %s\n\n%s\n", l.title, l.says)
		for _, p := range l.parts {
			text.WriteString(show(t, hunks, p))
		}
	}
	for file, rest := range hunks {
		for _, hunk := range rest {
			t.Errorf("%s: this hunk has no sentence in the lesson:\n%s", file, hunk)
		}
	}
	if lines := strings.Count(text.String(), "\n"); lines > maxLessonLines {
		t.Errorf("the lesson has %d lines, more than %d", lines, maxLessonLines)
	}
	if *update {
		must(t, os.WriteFile(lessonFile, []byte(text.String()), 0o600))
	}
	written, err := os.ReadFile(lessonFile)
	must(t, err)
	if diff := cmp.Diff(string(written), text.String()); diff != "" {
		t.Errorf("PROTECTED.md is not what the sources say (run: go test ./examples/invoices/protected -run Difference -update):\n%s", diff)
	}
}

func introduction(t *testing.T, hunks map[string][]string) string {
	t.Helper()
	changed, added := 0, 0
	for _, list := range hunks {
		for _, hunk := range list {
			changed += len(regexp.MustCompile(`(?m)^[-+]`).FindAllString(hunk, -1))
		}
	}
	for _, file := range sources(t, ".") {
		if _, both := hunks[file]; !both {
			added += bytes.Count(read(t, file), []byte("\n"))
		}
	}
	if changed > maxDifferent || added > maxAdded {
		t.Errorf("%d lines differ and %d are new, want at most %d and %d", changed, added, maxDifferent, maxAdded)
	}
	return fmt.Sprintf(`# What protection takes

[The naive application](.) makes two invoices of two clicks. [The protected one](protected) makes one, and gives every
caller the same answer. Pages, checks and JSON lie in [tallybook](tallybook) and are the same for both; what differs is
shown here, layer by layer: %d changed lines, and %d new ones.

This page is written by a test from the sources. Imports are left out.
`, changed, added)
}

// hunksByFile compares the files that both applications have.
func hunksByFile(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, file := range sources(t, ".") {
		naive, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			continue // the protected one's own
		}
		text := string(diff.Diff(file, withoutImports(naive), file, withoutImports(read(t, file))))
		found[file] = regexp.MustCompile(`(?m)^@@.*\n`).Split(text, -1)[1:]
	}
	for _, file := range sources(t, "..") {
		if _, both := found[file]; !both {
			t.Errorf("%s is there in the naive application only", file)
		}
	}
	return found
}

// sources lists what an application consists of, without tests.
func sources(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.go", "sql/*.sql", "*.yaml"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		must(t, err)
		for _, path := range found {
			file, err := filepath.Rel(dir, path)
			must(t, err)
			if !strings.HasSuffix(file, "_test.go") && file != "doc.go" {
				files = append(files, file)
			}
		}
	}
	return files
}

func withoutImports(source []byte) []byte {
	return regexp.MustCompile(`(?s)^package \w+\n\nimport \(.*?\n\)\n\n`).ReplaceAll(source, nil)
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	return text
}

// show writes one part, and takes its hunk out of hunks.
func show(t *testing.T, hunks map[string][]string, p part) string {
	t.Helper()
	list, both := hunks[p.file]
	if !both {
		return showOwn(t, p)
	}
	at := slices.IndexFunc(list, func(hunk string) bool { return strings.Contains(hunk, p.has) })
	if at < 0 {
		t.Errorf("%s: no hunk, or no other one, has %q", p.file, p.has)
		return ""
	}
	hunk := list[at]
	hunks[p.file] = slices.Delete(list, at, at+1)
	return p.write("diff", closer(hunk))
}

// write is the sentence, and the source below it.
func (p part) write(language, source string) string {
	sentence := fmt.Sprintf("\n[%s](protected/%s): %s\n", p.file, p.file, p.says)
	if p.told {
		return sentence
	}
	return fmt.Sprintf("%s\n```%s\n%s```\n", sentence, language, source)
}

// closer is a hunk with one unchanged line before and after it.
func closer(hunk string) string {
	lines := strings.SplitAfter(strings.TrimSuffix(hunk, "\n"), "\n")
	changed := func(line string) bool { return line[0] != ' ' }
	first := slices.IndexFunc(lines, changed)
	last := len(lines) - 1
	for !changed(lines[last]) {
		last--
	}
	return strings.TrimSuffix(strings.Join(lines[max(0, first-1):min(len(lines), last+2)], ""), "\n") + "\n"
}

// showOwn writes what only the protected application has.
func showOwn(t *testing.T, p part) string {
	t.Helper()
	text, language := string(read(t, p.file)), strings.TrimPrefix(filepath.Ext(p.file), ".")
	switch _, section, found := strings.Cut(text, p.has); {
	case !found:
		t.Errorf("%s has no %q", p.file, p.has)
	case language == "go":
		text = function(t, p.file, p.has)
	case p.has != "":
		section, _, _ = strings.Cut(section, "\n\n")
		text = p.has + section + "\n"
	}
	return p.write(language, text)
}

// function is the source of a function, with its comment.
func function(t *testing.T, file, name string) string {
	t.Helper()
	source := read(t, file)
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.ParseComments)
	must(t, err)
	for _, declared := range parsed.Decls {
		if f, ok := declared.(*ast.FuncDecl); ok && f.Name.Name == name {
			return string(source[set.Position(f.Doc.Pos()).Offset:set.Position(f.End()).Offset]) + "\n"
		}
	}
	t.Fatalf("%s has no function %s", file, name)
	return ""
}
