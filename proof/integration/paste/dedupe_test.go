package paste_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the database of the page, with another DSN
)

// The first block of docs/dedupe.md runs from the plan to the undo, each command after the other.
func TestDedupePage(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	db, err := sql.Open("sqlite", filepath.Join(home, "shop.db"))
	must(t, err)
	for _, statement := range []string{
		"CREATE TABLE invoices (id INTEGER PRIMARY KEY, number TEXT NOT NULL, merged_into INTEGER)",
		"INSERT INTO invoices (number) VALUES ('A-1'), ('A-1'), ('A-2')",
	} {
		_, err := db.ExecContext(t.Context(), statement)
		must(t, err)
	}
	must(t, db.Close())
	must(t, os.WriteFile(filepath.Join(home, "semel.yaml"), []byte("version: 1\nunique:\n- name: invoice_number\n  says: One invoice for each number.\n  table: invoices\n  scope: global\n  fields: [number]\n  except: [merged_into is set]\n"), 0o600))
	commands := strings.ReplaceAll(blocks(t, "docs/dedupe.md")[0].text, "postgres://app@db.example/shop", "sqlite:shop.db")
	output, err := paste(t, home, "set -e\n"+commands)
	if err != nil {
		t.Errorf("the commands failed: %v", err)
	}
	inOrder(t, output, "1 group", "Run 1: 1 loser merged, 0 open.", "Run 1: 1 row restored.")
}
