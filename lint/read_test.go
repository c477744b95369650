package lint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/semel-dev/semel/lint"
)

// judged judges a text on the standard input.
func judged(t *testing.T, dialect, ddl, text string) []lint.Finding {
	t.Helper()
	o := &lint.Options{Dialect: dialect, Stdin: strings.NewReader(text)}
	if ddl != "" {
		o.Schema = []string{filepath.Join(t.TempDir(), "schema.sql")}
		if err := os.WriteFile(o.Schema[0], []byte(ddl), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := lint.Run(t.Context(), []string{lint.Stdin}, o)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Placeholders of all client libraries are parameters in all dialects; #{a} twice is one value, and ? twice are two.
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	const ddl = "CREATE TABLE o (id integer PRIMARY KEY, n integer NOT NULL, status integer NOT NULL);"
	for _, dialect := range []string{"postgresql", "mysql", "sqlite"} {
		for text, want := range map[string]lint.Verdict{
			"UPDATE o SET n = n + 1, status = #{new_status} WHERE id = #{id} AND status < #{new_status}":                 lint.Safe,
			"UPDATE o SET n = n + 1, status = #{o.status, jdbcType=INTEGER} WHERE id = #{id} AND status < #{ o.status }": lint.Safe,
			"UPDATE o SET n = n + 1, status = #{new_status} WHERE id = #{id} AND status < #{old_status}":                 lint.NotSafe,
			"UPDATE o SET n = n + 1, status = ? WHERE id = ? AND status < ?":                                             lint.NotSafe,
			"UPDATE o SET status = ? WHERE id = ? AND status < ?":                                                        lint.Safe,
			"UPDATE o SET n = 5 WHERE id = #{id} ${more}":                                                                lint.CannotTell,
			"UPDATE o SET n = ${n} WHERE id = #{id}":                                                                     lint.CannotTell,
			"UPDATE o SET n = 5 WHERE id = #{id} AND '#{not}' = '#{a}' -- #{nor} this":                                   lint.Safe,
		} {
			found := judged(t, dialect, ddl, text)
			if len(found) != 1 || found[0].Verdict != want {
				t.Errorf("%s: %s: %+v, want %s", dialect, text, found, want)
				continue
			}
			shown, _, _ := strings.Cut(text, " --")
			if f := found[0]; f.File != "<stdin>" || f.Line != 1 || f.Text != shown || want == lint.CannotTell && !strings.Contains(f.Why, "puts a text into the statement") {
				t.Errorf("%s: %+v", dialect, f)
			}
		}
	}
}

// Statements about users, rights and settings touch no rows, and Run leaves them out.
func TestStatementsWithoutRows(t *testing.T) {
	t.Parallel()
	for dialect, text := range map[string]string{
		"postgresql": "GRANT SELECT ON o TO a; REVOKE ALL ON o FROM a; CREATE ROLE a; ALTER ROLE a PASSWORD 'x'; CREATE DATABASE d; SET work_mem = '1MB'; ANALYZE o; COMMENT ON TABLE o IS 'x'; BEGIN; COMMIT;",
		"mysql":      "GRANT SELECT ON o TO 'a'@'%'; REVOKE SELECT ON o FROM 'a'@'%'; CREATE USER IF NOT EXISTS 'a'@'%'; CREATE DATABASE d; SET NAMES utf8mb4; ANALYZE TABLE o; USE d;",
		"sqlite":     "ANALYZE o; BEGIN; COMMIT; PRAGMA foreign_keys = ON;",
	} {
		if found := judged(t, dialect, "", text); len(found) > 0 {
			t.Errorf("%s: %+v", dialect, found)
		}
		if found := judged(t, dialect, "", text+" DELETE FROM o"); len(found) != 1 || found[0].Verdict != lint.CannotTell {
			t.Errorf("%s: %+v", dialect, found)
		}
	}
}

// Each finding of the ground truth has its line, and says why in a sentence.
func TestReasons(t *testing.T) {
	t.Parallel()
	const folder = "../lint/internal/judge/testdata"
	truth, err := os.ReadFile(filepath.Join(folder, "truth.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dialect := range []string{"postgresql", "mysql", "sqlite"} {
		ddl, err := os.ReadFile(filepath.Join(folder, "schema_"+dialect+".sql"))
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for line := range strings.Lines(string(truth)) {
			if fields := strings.Split(strings.TrimSpace(line), "\t"); fields[0] == dialect {
				rows = append(rows, fields[3])
			}
		}
		found := judged(t, dialect, string(ddl), strings.Join(rows, ";\n"))
		if len(found) != len(rows) {
			t.Fatalf("%s: %d findings of %d rows", dialect, len(found), len(rows))
		}
		for i, f := range found {
			if f.Line != i+1 || len(strings.Fields(f.Why)) < 3 {
				t.Errorf("%s: line %d, want %d: %q: %s", dialect, f.Line, i+1, f.Why, rows[i])
			}
		}
	}
}
