package sqlitestore_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// query returns the rows that a query of text and numbers finds, one a line.
func query(tb testing.TB, path, q string, args ...any) string {
	tb.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(tb.Context(), q, args...)
	if err != nil {
		tb.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		tb.Fatal(err)
	}
	var out strings.Builder
	for rows.Next() {
		row := make([]any, len(columns))
		for i := range row {
			row[i] = new(any)
		}
		if err := rows.Scan(row...); err != nil {
			tb.Fatal(err)
		}
		for i, v := range row {
			if i > 0 {
				out.WriteByte('|')
			}
			fmt.Fprint(&out, *v.(*any))
		}
		out.WriteByte('\n')
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

// schemaOf is everything that the migrations leave behind.
func schemaOf(tb testing.TB, path string) string {
	tb.Helper()
	return query(tb, path, "SELECT sql || ';' FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type DESC, name") +
		"application_id " + query(tb, path, "PRAGMA application_id") +
		"user_version " + query(tb, path, "PRAGMA user_version") +
		"journal_mode " + query(tb, path, "PRAGMA journal_mode") +
		"meta " + query(tb, path, "SELECT id, fence, count FROM meta")
}

// The schema that leads here from an empty file is the one in testdata. A
// released migration never changes: this test fails when one does.
func TestSchemaFromEmpty(t *testing.T) {
	t.Parallel()
	golden := filepath.Join("testdata", "schema.golden")
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// A process that died between choosing the journal and the migration.
	begun := filepath.Join(dir, "begun.db")
	run(t, begun, "PRAGMA journal_mode = WAL")
	for _, path := range []string{filepath.Join(dir, "none.db"), empty, begun} {
		filled(t, path, 0)
		got := schemaOf(t, path)
		if os.Getenv("SEMEL_UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(string(bytes.ReplaceAll(read(t, golden), []byte("\r\n"), []byte("\n"))), got); diff != "" {
			t.Errorf("%s: schema (-want +got):\n%s", filepath.Base(path), diff)
		}
	}
}

// Opening a file at the latest schema changes nothing in it.
func TestSchemaIsMigratedOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "semel.db")
	filled(t, path, 3)
	before := query(t, path, "PRAGMA schema_version") + query(t, path, "SELECT fence, HEX(digest), state, HEX(outcome) FROM records")
	filled(t, path, 0)
	after := query(t, path, "PRAGMA schema_version") + query(t, path, "SELECT fence, HEX(digest), state, HEX(outcome) FROM records")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}
