package lint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/lint/mysql"
	"github.com/semel-dev/semel/internal/lint/postgres"
	"github.com/semel-dev/semel/internal/lint/sqlite"
	"github.com/semel-dev/semel/internal/lint/tree"
	"github.com/semel-dev/semel/lint"
)

// judged counts the statements of one run of the benchmark.
const judged = 10_000

// Statements of the rows of truth in one file: the time of reading, parsing and judging them, against that of parsing
// them alone.
func BenchmarkRun(b *testing.B) {
	parsers := map[dialect.Dialect]func(string) []tree.Parsed{dialect.PostgreSQL: postgres.Parse, dialect.MySQL: mysql.Parse, dialect.SQLite: sqlite.Parse}
	for d, parse := range parsers {
		b.Run(d.String(), func(b *testing.B) {
			text := statementsOfTruth(b, d)
			path := filepath.Join(b.TempDir(), "statements.sql")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				b.Fatal(err)
			}
			o := &lint.Options{Dialect: d.String(), Schema: []string{"../internal/lint/judge/testdata/schema_" + d.String() + ".sql"}}
			var whole, parsing time.Duration
			for b.Loop() {
				start := time.Now()
				found, err := lint.Run(b.Context(), []string{path}, o)
				if err != nil || len(found) != judged {
					b.Fatalf("%d findings, %v; want %d", len(found), err, judged)
				}
				whole += time.Since(start)
				start = time.Now()
				parse(text)
				parsing += time.Since(start)
			}
			b.ReportMetric(float64(whole.Milliseconds())/float64(b.N), "ms/10k")
			b.ReportMetric(float64(whole)/float64(parsing), "x-parse")
		})
	}
}

// statementsOfTruth returns statements of a dialect, one on a line.
func statementsOfTruth(b *testing.B, d dialect.Dialect) string {
	b.Helper()
	text, err := os.ReadFile("../internal/lint/judge/testdata/truth.tsv")
	if err != nil {
		b.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		if fields := strings.Split(strings.TrimSpace(line), "\t"); fields[0] == d.String() {
			all = append(all, strings.TrimSuffix(fields[len(fields)-1], ";")+";\n")
		}
	}
	var out strings.Builder
	for i := range judged {
		out.WriteString(all[i%len(all)])
	}
	return out.String()
}
