package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The page holds the results of the last runs, and no others.
func TestDocument(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	all, err := readResults(filepath.Join(root, resultsFile))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, pageFile))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), page(all)); diff != "" {
		t.Errorf("%s does not agree with %s (run: make compatibility, or go run ./proof/compat -only '^$'): %s", pageFile, resultsFile, diff)
	}
	for name := range all {
		if !strings.Contains(string(got), "| "+name) {
			t.Errorf("%q has results and no row", name)
		}
	}
}

// What counts is a test without subtests that used the server; a failure counts once, where it happened.
func TestCount(t *testing.T) {
	t.Parallel()
	event := func(action, test, output string) string {
		return fmt.Sprintf(`{"Action":%q,"Package":"github.com/semel-dev/semel/p","Test":%q,"Output":%q}`, action, test, output)
	}
	log := strings.Join([]string{
		`{"ImportPath":"p","Action":"build-output","Output":"# p\n"}`,
		event("pass", "TestUses/a", ""), event("pass", "TestUses/b", ""), event("pass", "TestUses", ""),
		event("pass", "TestOther", ""),
		event("pass", "TestParent/one/x", ""), event("pass", "TestParent/one", ""),
		event("output", "TestParent/two", "=== RUN   TestParent/two\n"), event("output", "TestParent/two", "    p_test.go:1: lost\n"),
		event("fail", "TestParent/two", ""), event("fail", "TestParent", ""),
		event("skip", "TestSkipped", ""),
		event("run", "TestHangs", ""),
		event("fail", "", ""),
	}, "\n")
	tests, err := readEvents(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	got := count(tests, []string{"TestUses/a", "TestParent/one", "TestSkipped"})
	want := cell{Passed: 2, Failed: map[string]string{"p TestParent/two": "p_test.go:1: lost", "p TestHangs": "did not end"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := readEvents(strings.NewReader("panic: x")); err == nil {
		t.Error("what is not an event was read")
	}
}

// Tests of pages count likewise. One that passed when it was tried again has passed, and one that was skipped does not count.
func TestReadReport(t *testing.T) {
	t.Parallel()
	one := func(title, status, message string) string {
		return fmt.Sprintf(`{"title":%q,"tests":[{"status":%q,"results":[{"error":{"message":%q}}]}]}`, title, status, message)
	}
	specs := strings.Join([]string{one("a", "expected", ""), one("b", "flaky", "late"), one("c", "skipped", ""), one("d", "unexpected", "two invoices\nat 1:1")}, ",")
	got, err := readReport([]byte(`{"suites":[{"title":"page.spec.ts","suites":[{"title":"Enter","specs":[` + specs + `]}]}],"errors":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cell{Passed: 2, Failed: map[string]string{"page.spec.ts Enter d": "two invoices"}}, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"npm error", `{"suites":[],"errors":[{"message":"the browser is missing"}]}`} {
		if _, err := readReport([]byte(text)); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}

// reports finds the version in what a proxy or a browser prints.
func TestReports(t *testing.T) {
	t.Parallel()
	_, _, version, err := reports("", "go", "version")(t.Context(), nil)
	if want := strings.TrimPrefix(runtime.Version(), "go"); err != nil || version != want {
		t.Errorf("got %q, error %v; want %q", version, err, want)
	}
	if _, _, _, err := reports("", "go", "env", "GOHOSTOS")(t.Context(), nil); err == nil {
		t.Error("a program that prints no version was accepted")
	}
}

// A run of one suite leaves what others saw, of the same version only.
func TestPut(t *testing.T) {
	t.Parallel()
	all := results{}
	all.put("s", row{Version: "1", Date: "d1", Cells: map[string]cell{"a": {Passed: 1}, "b": {Passed: 2}}})
	all.put("s", row{Version: "1", Date: "d2", Cells: map[string]cell{"a": {Passed: 3}}})
	if diff := cmp.Diff(row{Version: "1", Date: "d1", Cells: map[string]cell{"a": {Passed: 3}, "b": {Passed: 2}}}, all["s"]); diff != "" {
		t.Error(diff)
	}
	all.put("s", row{Version: "2", Date: "d3", Cells: map[string]cell{"b": {Passed: 4}}})
	if diff := cmp.Diff(row{Version: "2", Date: "d3", Cells: map[string]cell{"b": {Passed: 4}}}, all["s"]); diff != "" {
		t.Error(diff)
	}
}

// A suite names a column of the page.
func TestSuitesHaveColumns(t *testing.T) {
	t.Parallel()
	for _, table := range tables() {
		for _, p := range table.rows {
			for _, s := range p.suites {
				if !slices.Contains(table.columns, s.column) {
					t.Errorf("%s: no column %q", p.name, s.column)
				}
			}
		}
	}
}
