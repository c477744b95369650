package table_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/store/sqlitestore"
	"github.com/semel-dev/semel/store/sqlitestore/internal/table"
	"github.com/semel-dev/semel/store/sqlitestore/sqlitetx"
)

func openDB(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// places open a database with the tables of each store, and name those.
func places() map[string]func(t *testing.T, path string) (*sql.DB, table.Names) {
	return map[string]func(t *testing.T, path string) (*sql.DB, table.Names){
		"sqlitestore": func(t *testing.T, path string) (*sql.DB, table.Names) {
			t.Helper()
			s, err := sqlitestore.Open(t.Context(), path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return openDB(t, path), table.Names{Record: "records", Meta: "meta"}
		},
		"sqlitetx": func(t *testing.T, path string) (*sql.DB, table.Names) {
			t.Helper()
			db := openDB(t, path)
			s, err := sqlitetx.Open(t.Context(), db, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return db, table.Names{Record: "semel_record", Meta: "semel_meta"}
		},
	}
}

// explained returns the last column of an EXPLAIN, one row a line.
func explained(ctx context.Context, t *testing.T, db *sql.DB, query string, column int) string {
	t.Helper()
	rows, err := db.QueryContext(ctx, query, make([]any, 11)...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for rows.Next() {
		values, dest := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range values {
			dest[i] = &values[i]
		}
		if err := rows.Scan(dest...); err != nil {
			t.Fatal(err)
		}
		text.WriteString(values[column].String + "\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// A verb finds its rows by the fence or through one index, reads no more than
// it needs and sorts nothing, whether or not the table was analyzed while it
// was empty (promise 8).
func TestPlans(t *testing.T) {
	t.Parallel()
	const byFence = "SEARCH {record} USING INTEGER PRIMARY KEY (rowid=?)\n"
	const bySweep = byFence + "LIST SUBQUERY 1\nSEARCH {record} USING COVERING INDEX {record}_by_sweep (sweep_at_ms<?)\n"
	const downward = "SEARCH {record} USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)\n"
	const meta = "SEARCH {meta} USING INTEGER PRIMARY KEY (rowid=?)\n"
	plans := map[table.Statement]string{
		table.Lock: meta, table.MetaRead: meta, table.MetaWrite: meta, table.Count: meta,
		table.Renew: byFence, table.Settle: byFence, table.SettleSooner: byFence, table.Release: byFence,
		table.Lookup:       "SEARCH {record} USING INDEX {record}_by_digest (digest=?)\nSCALAR SUBQUERY 1\n" + meta,
		table.List:         downward,
		table.ListCount:    "CO-ROUTINE (subquery-1)\n" + downward + "SCAN (subquery-1)\n",
		table.SweepCorrect: bySweep, table.SweepDelete: bySweep,
	}
	for name, place := range places() {
		for analyzed, stats := range map[string]string{"never analyzed": "SELECT 1", "analyzed while empty": "ANALYZE"} {
			t.Run(name+"/"+analyzed, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "semel.db")
				db, names := place(t, path)
				if _, err := db.ExecContext(t.Context(), stats); err != nil {
					t.Fatal(err)
				}
				db = openDB(t, path) // statistics are read when a file is opened
				texts, err := names.Texts()
				if err != nil {
					t.Fatal(err)
				}
				for q, want := range plans {
					want = strings.NewReplacer("{record}", names.Record, "{meta}", names.Meta).Replace(want)
					if diff := cmp.Diff(want, explained(t.Context(), t, db, "EXPLAIN QUERY PLAN "+texts[q], 3)); diff != "" {
						t.Errorf("(-want +got):\n%s\n%s", diff, texts[q])
					}
				}
			})
		}
	}
}

// Settling and renewing touch no index: the promise behind the layout.
func TestSettleTouchesNoIndex(t *testing.T) {
	t.Parallel()
	for name, place := range places() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, names := place(t, filepath.Join(t.TempDir(), "semel.db"))
			texts, err := names.Texts()
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range []table.Statement{table.Renew, table.Settle} {
				code := explained(t.Context(), t, db, "EXPLAIN "+texts[q], 1)
				if !strings.Contains(code, "Insert") || strings.Contains(code, "IdxInsert") || strings.Contains(code, "IdxDelete") {
					t.Errorf("%s\nwrites an index:\n%s", texts[q], code)
				}
			}
		})
	}
}
