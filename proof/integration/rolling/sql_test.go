package rolling_test

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql" // the driver mysql
	"github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	_ "modernc.org/sqlite"             // the driver sqlite

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/proof/integration/rolling/fill"
	"github.com/semel-dev/semel/store/mysqlstore"
	"github.com/semel-dev/semel/store/pgstore"
	"github.com/semel-dev/semel/store/sqlitestore"
)

// updating says that golden files are to be written anew. Those of a released
// version are history: add a folder for the next one instead.
func updating() bool { return os.Getenv("SEMEL_UPDATE_GOLDEN") != "" }

// place holds the records of one store.
type place interface {
	open(t *testing.T) semel.Store
	dump(t *testing.T) string // what the records are
	highest(t *testing.T) semel.Fence
	freeze(t *testing.T) // puts the unknown record into a state of the future
}

// database is an empty place for one store, and what a golden file is for it.
type database struct {
	db     *sql.DB
	table  string
	times  string // the columns claimed, settled, lease, expires, sweep
	golden string // a script
	script func(t *testing.T) string
	value  func(column string, v any) string // as a literal
	store  func(context.Context) (semel.Store, error)
}

func (d *database) open(t *testing.T) semel.Store {
	t.Helper()
	store, err := d.store(t.Context())
	must(t, err)
	return store
}

// dump says what the rows are, without what differs from run to run: fences,
// owners, and times by less than ten seconds.
func (d *database) dump(t *testing.T) string {
	t.Helper()
	rows, err := d.db.QueryContext(t.Context(), "SELECT name, scope, state, kept, attempt, digest, fingerprint, note, outcome, "+d.times+
		" FROM "+d.table+" ORDER BY digest")
	must(t, err)
	defer rows.Close()
	var out strings.Builder
	for rows.Next() {
		var (
			name, scope, state, note                        string
			kept, attempt                                   any
			digest, fingerprint, outcome                    []byte
			claimed, settled, leaseUntil, expires, sweepFor int64
		)
		if err := rows.Scan(&name, &scope, &state, &kept, &attempt, &digest, &fingerprint, &note, &outcome,
			&claimed, &settled, &leaseUntil, &expires, &sweepFor); err != nil {
			t.Fatal(err)
		}
		since := func(ms int64) string { return fmt.Sprint((ms-claimed)/10_000, "0 s") }
		fmt.Fprintf(&out, "%s: scope %q state %q kept %v attempt %v digest %x fingerprint %x note %q outcome %x nil %t settled %t lease %s expires %s sweep %s\n",
			name, scope, state, kept, attempt, digest, fingerprint, note, inOrder(name, outcome), outcome == nil, settled != 0,
			since(leaseUntil), since(expires), since(sweepFor))
	}
	must(t, rows.Err())
	return out.String()
}

// inserts are statements that write the rows as they are.
func (d *database) inserts(t *testing.T) string {
	t.Helper()
	rows, err := d.db.QueryContext(t.Context(), "SELECT * FROM "+d.table+" ORDER BY fence")
	must(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	must(t, err)
	var out strings.Builder
	for rows.Next() {
		row := make([]any, len(columns))
		for i := range row {
			row[i] = new(any)
		}
		must(t, rows.Scan(row...))
		literals := make([]string, len(row))
		for i := range row {
			literals[i] = d.value(columns[i], *row[i].(*any))
		}
		fmt.Fprintf(&out, "INSERT INTO %s (%s) VALUES (%s);\n", d.table, strings.Join(columns, ", "), strings.Join(literals, ", "))
	}
	must(t, rows.Err())
	return out.String()
}

func postgresDatabase(t *testing.T) *database {
	t.Helper()
	dsn := testserver.PostgresDatabase(t)
	d := &database{
		db: openDB(t, "pgx", dsn), table: "semel.record", times: "claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms",
		golden: "postgres.sql",
		value: func(_ string, v any) string {
			switch v := v.(type) {
			case []byte:
				return `'\x` + hex.EncodeToString(v) + `'`
			case string:
				return "'" + strings.ReplaceAll(v, "'", "''") + "'"
			case nil:
				return "NULL"
			}
			return fmt.Sprint(v)
		},
		store: func(ctx context.Context) (semel.Store, error) { return pgstore.Open(ctx, dsn, nil) },
	}
	d.script = func(t *testing.T) string {
		t.Helper()
		all, err := pgstore.Migrations("")
		must(t, err)
		var out strings.Builder
		for _, m := range all {
			out.WriteString(m.SQL)
		}
		return out.String() + d.inserts(t) + "SELECT setval('semel.fence', (SELECT max(fence) FROM semel.record));\n"
	}
	return d
}

func mysqlDatabase(t *testing.T) *database {
	t.Helper()
	dsn := testserver.MySQLDatabase(t)
	d := &database{
		db: openDB(t, "mysql", dsn+"?multiStatements=true"), table: "semel_record", times: "claimed_ms, settled_ms, lease_until_ms, expires_ms, sweep_ms",
		golden: "mysql.sql",
		value: func(column string, v any) string {
			text, ok := v.([]byte)
			switch {
			case v == nil:
				return "NULL"
			case !ok:
				return fmt.Sprint(v)
			case strings.HasSuffix(column, "_ms"), column == "fence", column == "kept", column == "attempt":
				return string(text)
			}
			return fmt.Sprintf("x'%x'", text)
		},
		store: func(ctx context.Context) (semel.Store, error) { return mysqlstore.Open(ctx, dsn, nil) },
	}
	d.script = func(t *testing.T) string {
		t.Helper()
		all, err := mysqlstore.Migrations("")
		must(t, err)
		var out strings.Builder
		for _, m := range all {
			for _, statement := range m.Statements {
				out.WriteString(strings.TrimSuffix(strings.TrimSpace(statement), ";") + ";\n")
			}
		}
		return out.String() + d.inserts(t)
	}
	return d
}

// sqliteDatabase is a file; its golden one was made by the release that is
// named in it.
func sqliteDatabase(t *testing.T, path string) *database {
	t.Helper()
	return &database{
		db: openDB(t, "sqlite", path), table: "records", times: "claimed_at_ms, settled_at_ms, lease_until_ms, expires_at_ms, sweep_at_ms",
		store: func(ctx context.Context) (semel.Store, error) { return sqlitestore.Open(ctx, path, nil) },
	}
}

func openDB(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	must(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// TestSQLite: a file of the previous release, and one of this version, hold
// the same, and each is replayed.
func TestSQLite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	released, err := os.ReadFile(filepath.Join("testdata", "v1", "sqlite-a45ca0a.db"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "released.db"), released, 0o600))
	bothWays(t, sqliteDatabase(t, filepath.Join(dir, "released.db")), sqliteDatabase(t, filepath.Join(dir, "present.db")))
}

// TestServers: the same for PostgreSQL and MariaDB, whose golden form is a
// script.
func TestServers(t *testing.T) {
	t.Parallel()
	for name, empty := range map[string]func(*testing.T) *database{"postgres": postgresDatabase, "mysql": mysqlDatabase} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			released := empty(t)
			if updating() {
				d := empty(t)
				write(t, d, d.golden, d.script)
			}
			script, err := os.ReadFile(filepath.Join("testdata", "v1", released.golden))
			must(t, err)
			if _, err := released.db.ExecContext(t.Context(), string(script)); err != nil {
				t.Fatal(err)
			}
			bothWays(t, released, empty(t))
		})
	}
}

// write records everything, and makes a golden file of it.
func write(t *testing.T, p place, golden string, text func(*testing.T) string) {
	t.Helper()
	store := p.open(t)
	must(t, fill.Fill(t.Context(), store))
	must(t, store.Close())
	must(t, os.WriteFile(filepath.Join("testdata", "v1", golden), []byte(text(t)), 0o600))
}

// bothWays replays what a released version recorded, and compares what this
// one records with it.
func bothWays(t *testing.T, released, present place) {
	t.Helper()
	store := present.open(t)
	must(t, fill.Fill(t.Context(), store))
	if err := fill.Replay(t.Context(), store); err != nil {
		t.Errorf("what this version recorded: %v", err)
	}
	must(t, store.Close())
	before := released.dump(t)
	if diff := cmp.Diff(strings.Split(before, "\n"), strings.Split(present.dump(t), "\n")); diff != "" {
		t.Errorf("records (-released +present):\n%s", diff)
	}
	if n := strings.Count(before, "\n"); n < fill.Records {
		t.Errorf("the released version has %d records, want %d", n, fill.Records)
	}

	store = released.open(t)
	if err := fill.Replay(t.Context(), store); err != nil {
		t.Errorf("what the released version recorded: %v", err)
	}
	highest := released.highest(t)
	if fence := nextFence(t, store); fence <= highest {
		t.Errorf("promise 1: fence %d after %d of the released version", fence, highest)
	}
	released.freeze(t)
	refusesUnknownRecord(t, store)
	must(t, store.Close())
}

func (d *database) highest(t *testing.T) (highest semel.Fence) {
	t.Helper()
	must(t, d.db.QueryRowContext(t.Context(), "SELECT MAX(fence) FROM "+d.table).Scan(&highest))
	return highest
}

func (d *database) freeze(t *testing.T) {
	t.Helper()
	_, err := d.db.ExecContext(t.Context(), "UPDATE "+d.table+" SET state = 'frozen' WHERE name = 'unknown'")
	must(t, err)
}

var must = claimtest.NoError
