package dialect_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/dialect"
)

func ExampleDialect_Quote() {
	for _, d := range dialect.All() {
		fmt.Println(d, d.QuotePath("billing.order"), d.Placeholders(2, 2))
	}
	// Output:
	// postgresql "billing"."order" $2, $3
	// mysql `billing`.`order` ?, ?
	// sqlite "billing"."order" ?, ?
}

func TestParse(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]dialect.Dialect{
		"postgresql": dialect.PostgreSQL, "Postgres": dialect.PostgreSQL, "pgx": dialect.PostgreSQL,
		"mysql": dialect.MySQL, "MariaDB": dialect.MySQL, "sqlite": dialect.SQLite, "sqlite3": dialect.SQLite,
	} {
		if got, err := dialect.Parse(name); got != want || err != nil {
			t.Errorf("Parse(%q) = %v, %v, want %v", name, got, err, want)
		}
	}
	for _, d := range dialect.All() {
		if got, err := dialect.Parse(d.String()); got != d || err != nil {
			t.Errorf("Parse(%q) = %v, %v, want itself", d, got, err)
		}
	}
	if got, err := dialect.Parse("oracle"); err == nil {
		t.Errorf("Parse(oracle) = %v, want an error", got)
	}
}

func TestQuoteKeepsMarksInside(t *testing.T) {
	t.Parallel()
	got := []string{dialect.PostgreSQL.Quote(`a"b`), dialect.MySQL.Quote("a`b"), dialect.SQLite.Quote(`a.b`)}
	if diff := cmp.Diff([]string{`"a""b"`, "`a``b`", `"a.b"`}, got); diff != "" {
		t.Errorf("quoted (-want +got):\n%s", diff)
	}
}
