package archtest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/proof/archtest"
)

// The forbidden texts are put together here so that this file does not hold them.
const (
	marker  = "TO" + "DO"
	outside = ".." + "/shared"
	home    = "/home" + "/ada"
)

func TestTextCatchesForbiddenLines(t *testing.T) {
	t.Parallel()
	const (
		checkout = "/srv/builds/semel"
		promise  = " promises work: do it, or open an issue and leave the marker out"
	)
	for name, test := range map[string]struct {
		name, text string
		want       []string
	}{
		"plain":          {"a.go", "package a\n", nil},
		"lock file":      {"web/package-lock.json", marker + " " + home + "/\n", nil},
		"sum file":       {"go.sum", marker + "\n", nil},
		"binary":         {"logo.png", "\x00" + marker, nil},
		"part of a word": {"a.go", "// a " + marker + "S\n// mktemp XXXX\n", nil},
		"a currency":     {"a.go", `var none = "XX` + `X"` + "\n", nil},
		"a third marker": {"a.go", "// XX" + "X: later\n", []string{`a.go:1: "XX` + `X"` + promise}},
		"120 lines":      {"README.md", strings.Repeat("\n", 120), nil},
		"121 lines":      {"README.md", strings.Repeat("\n", 121), []string{"README.md: has 121 lines, at most 120: move detail to docs"}},
		"marker":         {"web/a.ts", "let a\n// " + marker + ": more\n", []string{`web/a.ts:2: "` + marker + `"` + promise}},
		"marker in code": {"a.go", "var ctx = context." + marker + "()\n", []string{`a.go:1: "` + marker + `"` + promise}},
		"folder outside": {
			"docs/a.md", "see " + outside + ".\nsee " + "shared" + "/STYLE.md\n",
			[]string{
				`docs/a.md:1: "` + outside + `" names a folder outside the repository: the repository is complete without it`,
				`docs/a.md:2: "shared` + `/STYLE.md" names a folder outside the repository: the repository is complete without it`,
			},
		},
		"somebody's home": {
			"Makefile", "GO = " + home + "/go/bin/go\n",
			[]string{`Makefile:1: "` + home + `/" holds a path of one machine: take it from a flag, the environment or t.TempDir`},
		},
		"an address is not a path": {"docs/a.md", "GET https://example.com" + home + "/x\n", nil},
		"this checkout": {
			"scripts/x", "cd " + checkout + "\n",
			[]string{`scripts/x:1: "` + checkout + `" holds the path of this checkout: take it from a flag, the environment or t.TempDir`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantViolations(t, archtest.CheckText(treeOf(t, map[string]string{test.name: test.text}), checkout), test.want...)
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
	noError(t, err)
	git(t, dir, "init", "--quiet")
	git(t, dir, "add", ".")
	noError(t, os.Remove(dir+"/gone.ts"))
	noError(t, os.WriteFile(dir+"/new.ts", []byte("\n// "+marker+"\n"), 0o600))
	tree, err := archtest.OpenTree(t.Context(), dir)
	noError(t, err)
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
