package archtest_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/semel-dev/semel/proof/archtest"
)

func TestProse(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file, text string
		want       int
	}{
		"a comment":               {"a.go", "package a\n\n// The bound is what no" + "body may pass.\n", 2},
		"a text":                  {"a.go", "package a\n\nconst x = \"the record sta" + "nds there\"\n", 1},
		"a field term":            {"a.go", "package a\n\n// A takeover creates no new record; it no longer counts.\n", 0},
		"code":                    {"a.go", "package a\n\nvar beside int\n", 0},
		"a page":                  {"docs/a.md", "It is kept bes" + "ide the row.\n```\nbes" + "ide\n```\n", 1},
		"a script":                {"scripts/a", "x=1 # " + "looks whether" + "\necho mend\n", 1},
		"Python":                  {"clients/a.py", "\"\"\"Keeps it\n" + "bes" + "ide the row.\n\"\"\"\n", 1},
		"what a test is fed with": {"testdata/a.md", "It is kept bes" + "ide the row.\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree, err := archtest.TreeOf(fstest.MapFS{test.file: {Data: []byte(test.text)}}, []string{test.file})
			noError(t, err)
			if got := archtest.CheckProse(tree, func(string) bool { return true }); len(got) != test.want {
				t.Errorf("got %q, want %d of them", got, test.want)
			}
		})
	}
}

// With PROSE=folder it lists what reads translated below that folder.
func TestProseBelow(t *testing.T) {
	t.Parallel()
	below, ok := os.LookupEnv("PROSE")
	if !ok {
		return
	}
	tree, err := archtest.OpenTree(t.Context(), "../..")
	noError(t, err)
	report(t, archtest.CheckProse(tree, func(name string) bool { return strings.HasPrefix(name, below) }))
}
