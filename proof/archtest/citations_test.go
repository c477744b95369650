package archtest_test

import (
	"testing"

	"github.com/semel-dev/semel/proof/archtest"
)

func TestCitationsCatchWhatIsNotThere(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"numbers":      {"| 1 | a | b |", nil},
		"tests":        {"`TestBegin`, `FuzzKey`, `TestingIsGood` and `BenchmarkClaim`", nil},
		"a lost test":  {"fine\n`TestGone`\n", []string{"docs/guarantees.md:2: no Go file has TestGone: name a test that is there"}},
		"a lost case":  {"`TestGone/first`", []string{"docs/guarantees.md:1: no Go file has TestGone: name a test that is there"}},
		"rules":        {"`claim/…`, `claim/ab…`, `claim/absent` and `go test/it`", nil},
		"a lost rule":  {"`claim/gone`", []string{"docs/guarantees.md:1: store/storetest has no rule claim/gone: name one that is there"}},
		"a lost group": {"`renew/…`", []string{"docs/guarantees.md:1: store/storetest has no rule renew/…: name one that is there"}},
		"links":        {"[a](guarantees.md#part) [b](../begin_test.go) [c](.) [d](https://example.com/x) [e](#here)", nil},
		"a lost link":  {"see [b](b.md#part)", []string{"docs/guarantees.md:1: links to b.md, which is not there"}},
		"code":         {"```go\nerrors.AsType[*Error](err)\n```\n[a](gone.md)\n", []string{"docs/guarantees.md:4: links to gone.md, which is not there"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := archtest.CheckCitations(treeOf(t, map[string]string{
				"docs/guarantees.md":       test.text,
				"begin_test.go":            "package semel_test\n\nfunc TestBegin(t *testing.T) {}\n\nfunc FuzzKey(f *testing.F) {}\n\nfunc BenchmarkClaim(b *testing.B) {}\n",
				"begin.go":                 "package semel\n\nfunc TestGone() {}\n",
				"store/storetest/claim.go": "package storetest\n\nvar rule = Rule{Name: \"claim/absent\"}\n",
			}))
			wantViolations(t, got, test.want...)
		})
	}
}

func TestThreatsHaveTests(t *testing.T) {
	t.Parallel()
	got := archtest.CheckCitations(treeOf(t, map[string]string{
		"docs/security.md": "| no. | threat | tests |\n|---|---|---|\n| 1 | a | `TestBegin` |\n| 2 | not attacked | |\n| 3 | c | `TestGone` |\n",
		"begin_test.go":    "package semel_test\n\nfunc TestBegin(t *testing.T) {}\n",
	}))
	wantViolations(
		t, got,
		"docs/security.md:5: no Go file has TestGone: name a test that is there",
		"docs/security.md:4: a threat has no test: name one that attacks the defence, in not attacked | |",
	)
}
