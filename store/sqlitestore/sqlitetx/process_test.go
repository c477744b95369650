package sqlitetx_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
	"github.com/semel-dev/semel/store/storetest"
)

func openOwned(ctx context.Context, path string) (semel.Store, error) {
	db, err := openDatabase(path, "") //nolint:contextcheck // it has a bound of its own.
	if err != nil {
		return nil, err
	}
	s, err := sqlitetx.Open(ctx, db, nil)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &claimtest.Owned{Store: s, DB: db}, nil
}

func processes() storetest.Processes {
	return storetest.Processes{
		Name: "sqlitetx",
		Place: func(tb testing.TB) string {
			tb.Helper()
			path := filepath.Join(tb.TempDir(), "app.db")
			db, err := openDatabase(path, "") // SQLite does not wait for others who turn the write-ahead log on
			if err = errors.Join(err, db.Close()); err != nil {
				tb.Fatal(err)
			}
			return path
		},
		Open:  openOwned,
		Check: verify,
		Do: func(ctx context.Context, g *semel.Guard, name string) (string, error) {
			return sqlitetx.Do(ctx, g, key(name), sameRequest(), func(ctx context.Context, tx *sql.Tx) (string, error) {
				return rand.Text(), insert(ctx, tx, name)
			})
		},
		Rows: func(tb testing.TB, path string) map[string]int {
			tb.Helper()
			rows := map[string]int{}
			for name := range strings.FieldsSeq(claimtest.Query(tb, database(tb, path, ""), "SELECT name FROM rows")) {
				rows[name]++
			}
			return rows
		},
	}
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	storetest.RunProcesses(t, processes())
}

func key(name string) semel.Key { return semel.Key{Scope: "tests", Name: name} }

// sameRequest is the fingerprint of every request: they differ by their keys.
func sameRequest() semel.Fingerprint { return semel.FingerprintOf("tests", "the same") }

// addRow is the work of most tests: one row, and an answer.
func addRow(ctx context.Context, g *semel.Guard, name string) (string, error) {
	return sqlitetx.Do(ctx, g, key(name), sameRequest(), func(ctx context.Context, tx *sql.Tx) (string, error) {
		return "answer " + name, insert(ctx, tx, name)
	})
}

// wantRowsOfRecords fails unless every row has its completed record, and every
// record its row, each once. It returns their names.
func wantRowsOfRecords(t *testing.T, db *sql.DB) []string {
	t.Helper()
	if alone := claimtest.Query(t, db, `SELECT name FROM rows GROUP BY name HAVING COUNT(*) <> 1
UNION SELECT name FROM rows WHERE name NOT IN (SELECT name FROM semel_record WHERE state = 'completed')
UNION SELECT name FROM semel_record WHERE state <> 'completed' OR name NOT IN (SELECT name FROM rows)`); alone != "" {
		t.Errorf("rows and records do not agree about %s", alone)
	}
	return strings.Split(strings.TrimSpace(claimtest.Query(t, db, "SELECT name FROM rows")), "\n")
}
