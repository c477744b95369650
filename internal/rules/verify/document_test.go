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
	"github.com/semel-dev/semel/internal/rules/verify"
)

var update = flag.Bool("update", false, "write docs/rules-verify.md")

// The page that lists all codes and all schemas says what the tests check.
func TestDocument(t *testing.T) {
	t.Parallel()
	name := filepath.Join("..", "..", "..", "docs", "rules-verify.md")
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
		t.Errorf("%s is not up to date (run: go test ./internal/rules/verify -run TestDocument -update):\n%s", name, diff)
	}
}

func document(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`# What rules verify finds

<!-- Written by: go test ./internal/rules/verify -run TestDocument -update -->

` + "`semel rules verify`" + ` compares the uniqueness rules of a rules file with a live database and, with ` + "`--sql`" + `, with files of
SQL. It reads, and changes nothing. Each finding has one of these codes, a place, a sentence and what to do.

| code | severity | what it means |
|---|---|---|
`)
	for _, about := range verify.Codes() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", about.Code, about.Severity, about.Means)
	}
	counts := make(map[dialect.Dialect]int)
	wrong, right := &strings.Builder{}, &strings.Builder{}
	for _, f := range fixtures(t, "wrong") {
		fmt.Fprintf(wrong, "| [%s](../internal/rules/verify/testdata/wrong/%s.txtar) | %s |", f.name, f.name, f.about)
		for _, d := range dialect.All() {
			cell := "–"
			if f.schema(d) != "" {
				counts[d]++
				cell = strings.Join(f.want(d), "<br>")
			}
			fmt.Fprintf(wrong, " %s |", cell)
		}
		wrong.WriteString("\n")
	}
	for _, f := range fixtures(t, "right") {
		fmt.Fprintf(right, "| [%s](../internal/rules/verify/testdata/right/%s.txtar) | %s |", f.name, f.name, f.about)
		for _, d := range dialect.All() {
			cell := "–"
			if f.schema(d) != "" {
				cell = "none"
			}
			fmt.Fprintf(right, " %s |", cell)
		}
		right.WriteString("\n")
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
## What is not seen

Spaces at the end of a text: most collations of MySQL and MariaDB say that 'a' is 'a ', and char(n) of PostgreSQL does.
Triggers, and settings that a session changes. Rows that are written while the search runs. SQL that a program puts together:
a file's templates and dynamic statements are reported as unread.
`, counts[dialect.PostgreSQL], counts[dialect.MySQL], counts[dialect.SQLite], wrong, right)
	return b.String()
}
