package verify_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/schema/verify"
)

var update = flag.Bool("update", false, "write docs/rules-verify.md")

// The page that lists all codes and all schemas says what the tests check.
func TestDocument(t *testing.T) {
	t.Parallel()
	name := filepath.Join("..", "..", "docs", "rules-verify.md")
	want := document(t)
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not up to date (run: go test ./schema/verify -run TestDocument -update):\n%s", name, diff)
	}
}

func document(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`# What rules verify finds

<!-- Written by: go test ./schema/verify -run TestDocument -update -->

` + "`semel rules verify`" + ` compares the [uniqueness rules](rules.md#uniqueness-rules) of a rules file with a live database and, with ` + "`--sql`" + `, with files
of SQL. Run it in continuous integration and after every migration; look its findings up here.

` + "```sh" + `
semel rules verify --dsn postgres://app@db.example/shop
` + "```" + `

Each finding has one of these codes, a place, a sentence and what to do.

| code | severity | what it means |
|---|---|---|
`)
	for _, about := range verify.Codes() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", about.Code, about.Severity, about.Means)
	}
	counts := make(map[dialect.Dialect]int)
	tables := map[string]*strings.Builder{"wrong": {}, "right": {}}
	for dir, rows := range tables {
		for _, f := range fixtures(t, dir) {
			fmt.Fprintf(rows, "| [%s](../schema/verify/testdata/%s/%s.txtar) | %s |", f.name, dir, f.name, f.about)
			for _, d := range dialect.All() {
				cell := "–"
				switch {
				case f.schema(d) == "":
				case dir == "right":
					cell = "none"
				default:
					counts[d]++
					cell = strings.Join(f.want(d), "<br>")
				}
				fmt.Fprintf(rows, " %s |", cell)
			}
			rows.WriteString("\n")
		}
	}
	fmt.Fprintf(&b, `
## Wrong schemas

Each of these is made on a real database, and exactly these findings are expected, no others: %d schemas on PostgreSQL, %d on
MariaDB, %d on SQLite. A dash means that the database cannot have the defect.

| schema | what is wrong | PostgreSQL | MariaDB | SQLite |
|---|---|---|---|---|
%s
## Right schemas

These have no findings.

| schema | what it has | PostgreSQL | MariaDB | SQLite |
|---|---|---|---|---|
%s
## What it does not do

It changes nothing: `+"`semel rules plan`"+` writes the SQL that is missing. It does not see

- spaces at the end of a text: for most collations of MySQL and MariaDB, and char(n) of PostgreSQL, 'a' equals 'a ';
- triggers, and settings that a session changes;
- rows that are written while the search runs;
- SQL that a program puts together: a file's templates and dynamic statements are reported as unread.
`, counts[dialect.PostgreSQL], counts[dialect.MySQL], counts[dialect.SQLite], tables["wrong"], tables["right"])
	return b.String()
}
