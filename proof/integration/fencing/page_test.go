package fencing_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// snippets returns the statements of the page, by system and name such as
// "mysql column/update".
func snippets() (map[string]string, error) {
	return readPage()
}

var readPage = sync.OnceValues(func() (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "guards.md"))
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, match := range regexp.MustCompile("(?ms)^```(?:sql|lua) (\\S+ \\S+)\n(.*?)\n```$").FindAllSubmatch(text, -1) {
		found[string(match[1])] = string(match[2])
	}
	return found, nil
})

// snippet returns the statement of the page.
func snippet(t *testing.T, name string) string {
	t.Helper()
	all, err := snippets()
	must(t, err)
	text, ok := all[name]
	if !ok {
		t.Fatalf("docs/guards.md has no statement %q", name)
	}
	return text
}

// TestPageHasNoOtherStatements: the tests of this package run the page's SQL
// and Lua.
func TestPageHasNoOtherStatements(t *testing.T) {
	t.Parallel()
	want := []string{"redis column/update"}
	for _, dialect := range []string{"postgresql", "mysql", "sqlite"} {
		for _, name := range []string{
			"column/schema", "column/update", "column/upsert", "table/schema", "table/advance", "once/schema", "once/insert",
		} {
			want = append(want, dialect+" "+name)
		}
	}
	want = append(want, "mysql column/accepted", "mysql table/accepted")
	all, err := snippets()
	must(t, err)
	slices.Sort(want)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(all)), want); diff != "" {
		t.Errorf("statements of docs/guards.md, and those that are run (-page +tests):\n%s", diff)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "guards.md"))
	must(t, err)
	if fences := len(regexp.MustCompile("(?m)^```(?:sql|lua)").FindAll(text, -1)); fences != len(all) {
		t.Errorf("%d blocks of SQL or Lua, %d of them with a system and a name of their own", fences, len(all))
	}
}
