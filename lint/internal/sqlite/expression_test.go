package sqlite_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/semel-dev/semel/lint/internal/sqlite"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// expressionOf reads an expression as the only result of a query.
func expressionOf(text string) (tree.Expr, error) {
	st := sqlite.Parse("SELECT (" + text + "\n)")[0].Statement
	if s, ok := st.(*tree.Select); ok {
		return s.Items[0].Expr, nil
	}
	return nil, fmt.Errorf("%+v", st)
}

// TestExpression reads expressions.txt: an expression, a tab, and the text of its tree.
func TestExpression(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/expressions.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		text, want, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		e, err := expressionOf(text)
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
	if e, err := expressionOf("a\x00 AND b"); err == nil {
		t.Errorf("got %s, want an error", tree.Text(e))
	}
}
