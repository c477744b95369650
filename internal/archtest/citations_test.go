package archtest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/archtest"
)

func TestCitationsCatchWhatIsNotThere(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want []archtest.Violation
	}{
		"numbers":      {"| 1 | a | b |", nil},
		"tests":        {"`TestBegin`, `FuzzKey`, `TestingIsGood` and `BenchmarkClaim`", nil},
		"a lost test":  {"fine\n`TestGone`\n", []archtest.Violation{{Where: "docs/guarantees.md:2", Rule: "no Go file has TestGone: name a test that is there"}}},
		"a lost case":  {"`TestGone/first`", []archtest.Violation{{Where: "docs/guarantees.md:1", Rule: "no Go file has TestGone: name a test that is there"}}},
		"rules":        {"`claim/…`, `claim/ab…`, `claim/absent` and `go test/it`", nil},
		"a lost rule":  {"`claim/gone`", []archtest.Violation{{Where: "docs/guarantees.md:1", Rule: "store/storetest has no rule claim/gone: name one that is there"}}},
		"a lost group": {"`renew/…`", []archtest.Violation{{Where: "docs/guarantees.md:1", Rule: "store/storetest has no rule renew/…: name one that is there"}}},
		"links":        {"[a](guarantees.md#part) [b](../begin_test.go) [c](.) [d](https://example.com/x) [e](#here)", nil},
		"a lost link":  {"see [b](b.md#part)", []archtest.Violation{{Where: "docs/guarantees.md:1", Rule: "links to b.md, which is not there"}}},
		"code":         {"```go\nerrors.AsType[*Error](err)\n```\n[a](gone.md)\n", []archtest.Violation{{Where: "docs/guarantees.md:4", Rule: "links to gone.md, which is not there"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := archtest.CheckCitations(treeOf(t, map[string]string{
				"docs/guarantees.md":       test.text,
				"begin_test.go":            "package semel_test\n\nfunc TestBegin(t *testing.T) {}\n\nfunc FuzzKey(f *testing.F) {}\n\nfunc BenchmarkClaim(b *testing.B) {}\n",
				"begin.go":                 "package semel\n\nfunc TestGone() {}\n",
				"store/storetest/claim.go": "package storetest\n\nvar rule = Rule{Name: \"claim/absent\"}\n",
			}))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestThreatsHaveTests(t *testing.T) {
	t.Parallel()
	got := archtest.CheckCitations(treeOf(t, map[string]string{
		"docs/security.md": "| no. | threat | tests |\n|---|---|---|\n| 1 | a | `TestBegin` |\n| 2 | not attacked | |\n| 3 | c | `TestGone` |\n",
		"begin_test.go":    "package semel_test\n\nfunc TestBegin(t *testing.T) {}\n",
	}))
	want := []archtest.Violation{
		{Where: "docs/security.md:5", Rule: "no Go file has TestGone: name a test that is there"},
		{Where: "docs/security.md:4", Rule: "a threat has no test: name one that attacks the defence, in not attacked | |"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}
