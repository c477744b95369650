package opendb_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/internal/testserver/databases"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgxpool.(*Pool).backgroundHealthCheck"))
}

// A database that is opened to read does not write, whatever it is asked; one
// that is opened to write does.
func TestReadDoesNotWrite(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		d.Exec(t, "CREATE TABLE things (id integer PRIMARY KEY)", "INSERT INTO things VALUES (1)")
		reader, err := opendb.Open(t.Context(), d.DSN, opendb.Read)
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		if reader.Dialect != d.Dialect {
			t.Errorf("the dialect is %s, want %s", reader.Dialect, d.Dialect)
		}
		for _, statement := range []string{"INSERT INTO things VALUES (2)", "CREATE TABLE more (id integer)"} {
			if _, err := reader.ExecContext(t.Context(), statement); err == nil {
				t.Errorf("a reader ran %s", statement)
			}
		}
		var n int
		if err := reader.QueryRowContext(t.Context(), "SELECT count(*) FROM things").Scan(&n); err != nil || n != 1 {
			t.Errorf("a reader sees %d rows, %v, want 1", n, err)
		}
		writer, err := opendb.Open(t.Context(), d.DSN, opendb.Write)
		if err != nil {
			t.Fatal(err)
		}
		defer writer.Close()
		if _, err := writer.ExecContext(t.Context(), "INSERT INTO things VALUES (2)"); err != nil {
			t.Errorf("a writer cannot write: %v", err)
		}
	})
}

func TestWrongDSN(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"":                                  "none is given",
		"shop.db":                           "which kind of database",
		`C:\data\shop.db`:                   "which kind of database",
		"u:s3cret@host":                     "which kind of database",
		"s3cret@host:1/db":                  "does not name a kind of database",
		"oracle://u:s3cret@host/db":         `no database is called "oracle"`,
		"redis://:s3cret@host":              "redis keeps no tables",
		"sqlite:":                           "sqlite needs a file",
		"sqlite::memory:":                   "in memory is empty",
		"sqlite://host/shop.db":             "a path, not an address",
		"sqlite:shop.db?mode=rwc":           "no parameters",
		"postgres://u:s3cret@host:port/db":  "cannot be read",
		"mysql://u:s3cret@host":             "names no database",
		"mysql://u:s3cret@host:port/db":     "cannot be read",
		"mysql:u:s3cret@tcp(host:1)/":       "names no database",
		"mysql:u:s3cret@nowhere(host:1/db!": "cannot be read",
	} {
		_, err := opendb.Open(t.Context(), dsn, opendb.Read)
		if !errors.Is(err, opendb.ErrDSN) || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%q): %v, want ErrDSN with %q", dsn, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("Open(%q) repeats the password: %v", dsn, err)
		}
	}
}

// An unreachable database is not a fault of the DSN, and is not created.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	absent, letter := filepath.Join(dir, "absent.db"), filepath.Join(dir, "letter.txt")
	if err := os.WriteFile(letter, []byte(strings.Repeat("Dear Sir or Madam, ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for dsn, want := range map[string]string{
		"sqlite:" + absent:                        "does not exist",
		"sqlite:" + dir:                           "is a directory",
		"sqlite:" + letter:                        "not a database",
		"postgres://shop:s3cret@127.0.0.1:1/shop": "open postgres:…",
		"mysql://shop:s3cret@127.0.0.1:1/shop":    "open mysql:…",
	} {
		for _, use := range []opendb.Use{opendb.Read, opendb.Write} {
			_, err := opendb.Open(t.Context(), dsn, use)
			if err == nil || errors.Is(err, opendb.ErrDSN) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("Open(%q): %v, want %q, no ErrDSN and no password", dsn, err, want)
			}
		}
	}
	if _, err := os.Stat(absent); err == nil {
		t.Error("looking at a file created it")
	}
}

// A path is a path, whatever a URL would make of it.
func TestPathWithMarks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "with space %20 #1 ö.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := opendb.Open(t.Context(), "sqlite:"+path, opendb.Write)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE things (id integer)"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() == 0 {
		t.Errorf("another file was written: %v", err)
	}
}
