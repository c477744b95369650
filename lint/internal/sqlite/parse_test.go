package sqlite_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/lint/internal/sqlite"
	"github.com/semel-dev/semel/lint/internal/tree"
)

var update = flag.Bool("update", false, "write the golden files")

// TestParse compares the trees of the statements in testdata, which are on the lines that begin with
// ">". A line break in a statement is written as \n.
func TestParse(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(files) == 0 {
		t.Fatalf("golden files: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for line := range strings.Lines(string(want)) {
				if text, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "> "); ok {
					got.WriteString("> " + text + "\n" + dumpAll(strings.ReplaceAll(text, `\n`, "\n")))
				}
			}
			if *update {
				if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(got.String(), string(want)); diff != "" && !*update {
				t.Errorf("trees (-got +want):\n%s", diff)
			}
		})
	}
}

func dumpAll(text string) string {
	var b strings.Builder
	for _, p := range sqlite.Parse(text) {
		if cut := text[p.Start:p.End]; cut != strings.TrimRight(text, "; ") {
			fmt.Fprintf(&b, "  %q\n", cut)
		}
		b.WriteString("  " + dump(p.Statement) + "\n")
	}
	return b.String()
}

// dump writes a node with the fields that are set.
func dump(v any) string {
	switch e := v.(type) {
	case *tree.Column, *tree.Star, *tree.Literal, *tree.Param, *tree.Default:
		return tree.Text(e.(tree.Expr))
	case *tree.Op:
		return "(" + e.Name + " " + dumpValue(reflect.ValueOf(e.Args)) + ")"
	case tree.Name:
		return strings.TrimPrefix(e.Schema+"."+e.Name, ".")
	}
	return dumpValue(reflect.ValueOf(v))
}

func dumpValue(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		return dumpValue(v.Elem())
	}
	if v.Kind() == reflect.Slice {
		all := make([]string, v.Len())
		for i := range all {
			all[i] = dump(v.Index(i).Interface())
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	if v.Kind() == reflect.Struct {
		var set []string
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsZero() {
				set = append(set, v.Type().Field(i).Name+": "+dump(f.Interface()))
			}
		}
		return v.Type().Name() + "{" + strings.Join(set, ", ") + "}"
	}
	return fmt.Sprint(v.Interface())
}

// TestParseKnown lists what is not translated of the statements that are meant to be.
func TestParseKnown(t *testing.T) {
	t.Parallel()
	refused := map[string]bool{
		"INSERT INTO t(id,n) VALUES (1,2) ON CONFLICT(id) DO NOTHING ON CONFLICT(k) WHERE m IS NULL DO UPDATE SET n=n+1": true,
		"UPDATE OR IGNORE t SET k='a'": true,
	}
	for _, text := range append(statements(t, "testdata/nasty.golden"), statements(t, "testdata/retried.golden")...) {
		trees := dumpAll(text)
		if got := strings.Contains(trees, "Opaque{") || strings.Contains(trees, "Raw{"); got != refused[text] {
			t.Errorf("%s: refused %v, want %v:\n%s", text, got, refused[text], trees)
		}
	}
}

// TestParseLimits: what is too deep to be walked is refused, not read until the stack is full.
func TestParseLimits(t *testing.T) {
	t.Parallel()
	const many = 200_000
	for name, text := range map[string]string{
		"a sum":          "SELECT 1" + strings.Repeat("+1", many),
		"a conjunction":  "DELETE FROM t WHERE a" + strings.Repeat(" AND a", many),
		"parentheses":    "SELECT " + strings.Repeat("(", many) + "1" + strings.Repeat(")", many),
		"a compound":     "SELECT 1" + strings.Repeat(" UNION SELECT 1", many),
		"joins":          "SELECT 1 FROM t" + strings.Repeat(" JOIN t", many),
		"assignments":    "UPDATE t SET a = 1" + strings.Repeat(", a = 1", many),
		"endless window": "SELECT sum(1) OVER w FROM t WINDOW w AS (w)",
		"after a NUL":    "\x00; DELETE FROM t",
	} {
		all := sqlite.Parse(text)
		if len(all) != 1 {
			t.Fatalf("%s: got %d statements, want 1", name, len(all))
		}
		if _, ok := all[0].Statement.(*tree.Opaque); !ok {
			t.Errorf("%s: got %T, want *tree.Opaque", name, all[0].Statement)
		}
	}
}
