package sqlitestore_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/claimtest"
)

// query returns the rows that a query of text and numbers finds, one a line.
func query(tb testing.TB, path, q string, args ...any) string {
	tb.Helper()
	db, err := sql.Open("sqlite", path)
	noError(tb, err)
	defer db.Close()
	return claimtest.Query(tb, db, q, args...)
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
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.db")
	noError(t, os.WriteFile(empty, nil, 0o600))
	// A process that died between choosing the journal and the migration.
	begun := filepath.Join(dir, "begun.db")
	run(t, begun, "PRAGMA journal_mode = WAL")
	for _, path := range []string{filepath.Join(dir, "none.db"), empty, begun} {
		filled(t, path, 0)
		claimtest.Golden(t, filepath.Base(path), schemaOf(t, path))
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
