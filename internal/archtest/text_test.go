package archtest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/archtest"
)

// The forbidden texts are put together here so that this file does not hold them.
const (
	marker  = "TO" + "DO"
	outside = ".." + "/shared"
	home    = "/home" + "/ada"
)

func TestTextCatchesForbiddenLines(t *testing.T) {
	t.Parallel()
	const checkout = "/srv/builds/semel"
	for name, test := range map[string]struct {
		name, text string
		want       []archtest.Violation
	}{
		"plain":          {"a.go", "package a\n", nil},
		"lock file":      {"web/package-lock.json", marker + " " + home + "/\n", nil},
		"sum file":       {"go.sum", marker + "\n", nil},
		"binary":         {"logo.png", "\x00" + marker, nil},
		"part of a word": {"a.go", "// a " + marker + "S\n// mktemp XXXX\n", nil},
		"a currency":     {"a.go", `var none = "XX` + `X"` + "\n", nil},
		"a third marker": {
			"a.go", "// XX" + "X: later\n",
			[]archtest.Violation{{
				Where: "a.go:1",
				Rule:  `"XX` + `X" promises work: do it, or open an issue and leave the marker out`,
			}},
		},
		"180 lines": {"README.md", strings.Repeat("\n", 180), nil},
		"181 lines": {
			"README.md", strings.Repeat("\n", 181),
			[]archtest.Violation{{Where: "README.md", Rule: "has 181 lines, at most 180: move detail to docs"}},
		},
		"marker": {
			"web/a.ts", "let a\n// " + marker + ": more\n",
			[]archtest.Violation{{
				Where: "web/a.ts:2",
				Rule:  `"` + marker + `" promises work: do it, or open an issue and leave the marker out`,
			}},
		},
		"marker in code": {
			"a.go", "var ctx = context." + marker + "()\n",
			[]archtest.Violation{{
				Where: "a.go:1",
				Rule:  `"` + marker + `" promises work: do it, or open an issue and leave the marker out`,
			}},
		},
		"folder outside": {
			"docs/a.md", "see " + outside + ".\nsee " + "shared" + "/STYLE.md\n",
			[]archtest.Violation{
				{Where: "docs/a.md:1", Rule: `"` + outside + `" names a folder outside the repository: the repository is complete without it`},
				{Where: "docs/a.md:2", Rule: `"shared` + `/STYLE.md" names a folder outside the repository: the repository is complete without it`},
			},
		},
		"somebody's home": {
			"Makefile", "GO = " + home + "/go/bin/go\n",
			[]archtest.Violation{{
				Where: "Makefile:1",
				Rule:  `"` + home + `/" holds a path of one machine: take it from a flag, the environment or t.TempDir`,
			}},
		},
		"an address is not a path": {"docs/a.md", "GET https://example.com" + home + "/x\n", nil},
		"this checkout": {
			"scripts/x", "cd " + checkout + "\n",
			[]archtest.Violation{{
				Where: "scripts/x:1",
				Rule:  `"` + checkout + `" holds the path of this checkout: take it from a flag, the environment or t.TempDir`,
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := archtest.CheckText(treeOf(t, map[string]string{test.name: test.text}), checkout)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTreeOnDisk reads what git tracks and what is new, and neither what is ignored nor what is deleted.
func TestTreeOnDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	err := os.CopyFS(dir, fstest.MapFS{
		".gitignore": {Data: []byte("built/\n")},
		"built/a.ts": {Data: []byte("// " + marker + "\n")},
		"gone.ts":    {Data: []byte("// " + marker + "\n")},
		"known.ts":   {Data: []byte("// " + marker + "\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "--quiet")
	git(t, dir, "add", ".")
	if err := os.Remove(dir + "/gone.ts"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/new.ts", []byte("\n// "+marker+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tree, err := archtest.OpenTree(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, violation := range archtest.CheckText(tree, dir) {
		got = append(got, violation.Where)
	}
	if diff := cmp.Diff([]string{"known.ts:1", "new.ts:2"}, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
