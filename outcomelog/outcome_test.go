package outcomelog_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWordsOfDoors: each door reports exactly these outcomes, and no outcome
// exists that no door reports.
func TestWordsOfDoors(t *testing.T) {
	t.Parallel()
	doors := map[string]string{
		"..":           "cancelled claimed duplicate failed in-flight key-invalid mismatch not-kept quota replayed shutting-down unavailable unknown unreadable aborted",
		"../dbguard":   "created rejected returned-existing",
		"../semelgrpc": "aborted cancelled created denied duplicate executed failed in-flight internal key-invalid key-missing merged mismatch not-kept not-stored quota rejected released replayed returned-existing rolled-back shutting-down unavailable unknown unreadable",
		"../semelhttp": "aborted body-incomplete body-too-large cancelled created denied duplicate executed failed form-stale in-flight internal key-invalid key-missing merged mismatch not-kept not-stored quota rejected released replayed returned-existing rolled-back shutting-down unavailable unknown unprotected unreadable unverified",
		// The gateway passes on the decisions of semelhttp, and refuses on its own. It looks for two outcomes, and starts the counters of those that alerts watch.
		"../gateway": "ambiguous-request claimed not-stored released unavailable unknown unprotected",
	}
	all := enumeration(t)
	page, err := os.ReadFile("../docs/console.md")
	if err != nil {
		t.Fatal(err)
	}
	reported := map[string]bool{}
	for dir, words := range doors {
		want := strings.Fields(words)
		slices.Sort(want)
		if diff := cmp.Diff(want, wordsIn(t, dir, all)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", dir, diff)
		}
		for _, word := range want {
			reported[word] = true
		}
	}
	for name, word := range all {
		if !reported[word] {
			t.Errorf("no door reports %s", name)
		}
		if !strings.Contains(string(page), "`"+word+"`") {
			t.Errorf("docs/console.md does not explain %s", word)
		}
	}
}

// enumeration returns the word of every constant of type Outcome.
func enumeration(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	ast.Inspect(parse(t, "outcome.go"), func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			literal, _ := spec.Values[0].(*ast.BasicLit)
			word, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			all[spec.Names[0].Name] = word
		}
		return true
	})
	return all
}

// wordsIn returns the outcomes that the package in dir names, in order.
func wordsIn(t *testing.T, dir string, all map[string]string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	var words []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		ast.Inspect(parse(t, file), func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if from, ok := selector.X.(*ast.Ident); ok && from.Name == "outcomelog" && all[selector.Sel.Name] != "" {
				words = append(words, all[selector.Sel.Name])
			}
			return true
		})
	}
	slices.Sort(words)
	return slices.Compact(words)
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
