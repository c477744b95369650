package sqlite_test

import (
	"os"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/lint/sqlite"
	"github.com/semel-dev/semel/internal/lint/tree"
)

// TestExpression reads expressions.txt: an expression, a tab, and the text of its tree.
func TestExpression(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/expressions.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		text, want, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		e, err := sqlite.Expression(text)
		got := tree.Text(e)
		switch e.(type) {
		case *tree.Raw:
			got = "RAW"
		case *tree.Query:
			got = "QUERY"
		}
		if err != nil {
			got = "ERROR"
		}
		if got != want {
			t.Errorf("%s: got %s, want %s (%v)", text, got, want, err)
		}
	}
}

func TestExpressionEndsAtNUL(t *testing.T) {
	t.Parallel()
	if e, err := sqlite.Expression("a\x00 AND b"); err == nil {
		t.Errorf("got %s, want an error", tree.Text(e))
	}
}
