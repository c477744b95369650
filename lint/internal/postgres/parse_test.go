package postgres_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/semel-dev/semel/lint/internal/postgres"
	"github.com/semel-dev/semel/lint/internal/tree"
)

var update = flag.Bool("update", false, "write the golden files")

// TestParse compares the trees of the statements in testdata: a statement is a line, and what follows the arrow its tree.
func TestParse(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			for line := range strings.Lines(string(data)) {
				statement, golden := strings.CutPrefix(line, "> ")
				if !golden {
					continue
				}
				out.WriteString(line)
				text := strings.ReplaceAll(strings.TrimSpace(statement), `\n`, "\n")
				if strings.HasPrefix(file, "testdata/expression") {
					out.WriteString(expression(text))
					continue
				}
				for _, p := range postgres.Parse(text) {
					out.WriteString(dump(p.Statement) + "\n")
				}
			}
			if *update {
				if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, want := strings.Split(out.String(), "\n"), strings.Split(string(data), "\n")
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] && !*update {
					t.Fatalf("%s:%d:\ngot  %s\nwant %s", file, i+1, got[i], want[i])
				}
			}
			if len(got) != len(want) && !*update {
				t.Fatalf("%s: got %d lines, want %d", file, len(got), len(want))
			}
		})
	}
}

func expression(text string) string {
	e, err := postgres.Expression(text)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	return dump(&e) + "\n"
}

// TestSplit checks the places of the statements of a text.
func TestSplit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want []string
	}{
		{"", nil},
		{" -- nothing\n;;", nil},
		{"SELECT 1;\n-- c\n/* d */ SELECT ';' -- e\n;", []string{"SELECT 1", "SELECT ';'"}},
		{"SELECT $x$;$x$; BROKEN; SELECT 2", []string{"SELECT $x$;$x$", "BROKEN", "SELECT 2"}},
		{
			"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END; SELECT 3",
			[]string{"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END", "SELECT 3"},
		},
		{"CREATE RULE r AS ON DELETE TO t DO (SELECT 1; SELECT 2); SELECT 3", []string{"CREATE RULE r AS ON DELETE TO t DO (SELECT 1; SELECT 2)", "SELECT 3"}},
		{"SELECT (1; SELECT 2", []string{"SELECT (1", "SELECT 2"}},
		{"SELECT 1; SELECT é 1a; SELECT 2", []string{"SELECT 1", "SELECT é 1a", "SELECT 2"}},
		{"SELECT 1; SELECT 'a", []string{"SELECT 1", "SELECT 'a"}},
	}
	for _, tt := range tests {
		var got []string
		for _, p := range postgres.Parse(tt.text) {
			got = append(got, tt.text[p.Start:p.End])
		}
		if strings.Join(got, "|") != strings.Join(tt.want, "|") {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
	}
}

// TestBounds checks that what is too long, too deep or holds a zero byte is refused.
func TestBounds(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"SELECT " + strings.Repeat("1+", 20_000) + "1",
		"SELECT '" + strings.Repeat("a", 2<<20) + "'",
		"UPDATE t SET a = 1\x00, b = b + 1",
		"SELECT " + strings.Repeat("(", 20_000),
	} {
		all := postgres.Parse(text)
		if len(all) == 0 {
			t.Fatalf("%.30q: nothing", text)
		}
		if _, ok := all[0].Statement.(*tree.Opaque); !ok {
			t.Errorf("%.30q: got %T, want *tree.Opaque", text, all[0].Statement)
		}
	}
}
