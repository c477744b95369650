package lint_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint"
)

// What is too large, too deep or cyclic is a finding in every dialect, and safe only where all of it is read.
func TestExcess(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL);\n"
	trigger := func(on, body string) string {
		return "CREATE TRIGGER on_" + on + " AFTER UPDATE ON " + on + " FOR EACH ROW BEGIN " + body + "; END;\n"
	}
	triggers := table + "CREATE TABLE s (id int PRIMARY KEY, n int NOT NULL);\n" + trigger("t", "UPDATE s SET n = n + 1") + trigger("s", "UPDATE t SET n = n + 1")
	items := 500_000
	if testing.Short() {
		items /= 5
	}
	for _, one := range []struct{ name, ddl, statement string }{
		{"large", table, "UPDATE t SET n = 5 WHERE id IN (0" + strings.Repeat(",123456789", items) + ")"},
		{"deep", table, "UPDATE t SET n = 5 WHERE " + strings.Repeat("NOT ", 100_000) + "id = 1"},
		{"parentheses", table, "UPDATE t SET n = " + strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000)},
		{"binary", table, "UPDATE t SET n = 5\x00\xff\xfe"},
		{"views", "CREATE VIEW v AS SELECT * FROM w;\nCREATE VIEW w AS SELECT * FROM v;\n", "UPDATE v SET n = 5"},
		{"foreign keys", "CREATE TABLE t (id int PRIMARY KEY, s int REFERENCES s (id) ON DELETE SET NULL);\nCREATE TABLE s (id int PRIMARY KEY, t int REFERENCES t (id) ON DELETE SET NULL);\n", "DELETE FROM t WHERE s IN (SELECT id FROM s WHERE t IS NULL)"},
		{"triggers", triggers, "UPDATE t SET n = 5"},
	} {
		for _, d := range dialect.All() {
			t.Run(one.name+"/"+d.String(), func(t *testing.T) {
				t.Parallel()
				folder := t.TempDir()
				ddl, path := filepath.Join(folder, "ddl.sql"), filepath.Join(folder, "statement.sql")
				write(t, ddl, one.ddl)
				write(t, path, one.statement+";\n")
				found, err := lint.Run(t.Context(), []string{path}, &lint.Options{Dialect: d.String(), Schema: []string{ddl}})
				if err != nil || len(found) == 0 {
					t.Fatalf("%d findings, %v; want one", len(found), err)
				}
				for _, f := range found {
					if f.Verdict < lint.CannotTell && one.name != "parentheses" && one.name != "large" {
						t.Errorf("%s (%s: %s), want one that is not safe, or cannot be told", f.Verdict, f.Rule, f.Why)
					}
				}
			})
		}
	}
}
