package mysqlstore_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/mysqlstore"
)

// The schema that the migrations lead to is the one in testdata. A released
// migration never changes: this test fails when one does.
func TestSchema(t *testing.T) {
	t.Parallel()
	dsn := testserver.MySQLDatabase(t)
	db := quietPool(t, dsn)
	open(t, dsn, nil)
	got := value(t, db, `SELECT GROUP_CONCAT(CONCAT_WS(' ', TABLE_NAME, COLUMN_NAME, REGEXP_REPLACE(COLUMN_TYPE, 'int\\([0-9]+\\)', 'int'), IS_NULLABLE, EXTRA, COLUMN_KEY)
ORDER BY TABLE_NAME, ORDINAL_POSITION SEPARATOR '\n') FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()`) + "\n" +
		value(t, db, `SELECT GROUP_CONCAT(CONCAT_WS(' ', TABLE_NAME, INDEX_NAME, COLUMN_NAME, NON_UNIQUE)
ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX SEPARATOR '\n') FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE()`) + "\n" +
		value(t, db, `SELECT GROUP_CONCAT(CONCAT_WS(' ', TABLE_NAME, ENGINE, ROW_FORMAT) ORDER BY TABLE_NAME SEPARATOR '\n')
FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()`) + "\n"
	claimtest.Golden(t, "opened", got)
}

// Many processes may migrate at once, even after a crash cut one off between
// two statements; a second time changes nothing.
func TestMigrateConcurrently(t *testing.T) {
	t.Parallel()
	latest, err := mysqlstore.SchemaVersion()
	noError(t, err)
	steps, err := mysqlstore.Migrations("")
	if err != nil || len(steps) != latest {
		t.Fatalf("got %d steps, error %v, want %d", len(steps), err, latest)
	}
	for crashed := range len(steps[0].Statements) {
		dsn := testserver.MySQLDatabase(t)
		db := quietPool(t, dsn)
		for _, statement := range steps[0].Statements[:crashed] {
			execute(t, db, statement)
		}
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				s, err := mysqlstore.Open(t.Context(), dsn, &mysqlstore.Options{MaxConns: 2})
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := value(t, db, "SELECT COUNT(*) FROM semel_migration"); n != "1" {
			t.Errorf("%s migrations were noted, want 1", n)
		}
	}
}

// A tool of one's own may run the migrations, and repeat them.
func TestMigrationsByOneself(t *testing.T) {
	t.Parallel()
	dsn := testserver.MySQLDatabase(t)
	refuses(t, dsn, &mysqlstore.Options{SkipMigrations: true}, "run the statements of mysqlstore.Migrations")
	refuses(t, dsn, &mysqlstore.Options{ReadOnly: true}, "run the statements of mysqlstore.Migrations")
	steps, err := mysqlstore.Migrations("own_")
	noError(t, err)
	db := quietPool(t, dsn)
	for range 2 {
		for _, step := range steps {
			for _, statement := range step.Statements {
				execute(t, db, statement)
			}
		}
	}
	wins(t, open(t, dsn, &mysqlstore.Options{TablePrefix: "own_", SkipMigrations: true}), params("k"))
	if _, err := mysqlstore.Migrations("bad prefix"); err == nil {
		t.Error("a prefix that no store takes must be refused")
	}
}

// What is not the tables that this program knows is refused, and stays as it
// is.
func TestStrangeTables(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]string{
		"INSERT INTO semel_migration VALUES (99, 0)":                   "at schema 99, this program knows up to 1 (run a newer semel",
		"DROP TABLE semel_record":                                      "table semel_record is missing",
		"ALTER TABLE semel_record ENGINE = MyISAM":                     "ALTER TABLE semel_record ENGINE = InnoDB",
		"ALTER TABLE semel_record DROP COLUMN outcome":                 "Unknown column 'outcome'",
		"DROP TABLE semel_migration":                                   "",
		"DELETE FROM semel_migration":                                  "",
		"ALTER TABLE semel_record ADD COLUMN of_somebody INT NOT NULL": "",
	} {
		dsn := testserver.MySQLDatabase(t)
		open(t, dsn, nil)
		execute(t, quietPool(t, dsn), change)
		if want == "" { // it can be fixed, or does not matter
			open(t, dsn, nil)
			continue
		}
		refuses(t, dsn, nil, want)
	}
	dsn := testserver.MySQLDatabase(t)
	open(t, dsn, nil)
	execute(t, quietPool(t, dsn), "DELETE FROM semel_migration")
	refuses(t, dsn, &mysqlstore.Options{SkipMigrations: true}, "no tables semel_")
}

// A process that waits for another migration stops when its context ends.
func TestMigrationIsLocked(t *testing.T) {
	t.Parallel()
	dsn := testserver.MySQLDatabase(t)
	db := quietPool(t, dsn)
	conn, err := db.Conn(t.Context())
	noError(t, err)
	defer conn.Close()
	name := mysqlstore.MigrationLock(value(t, db, "SELECT DATABASE()"), "semel_")
	if _, err := conn.ExecContext(t.Context(), "DO GET_LOCK(?, 0)", name); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := mysqlstore.Open(ctx, dsn, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
	}
	if _, err := conn.ExecContext(t.Context(), "DO RELEASE_LOCK(?)", name); err != nil {
		t.Fatal(err)
	}
	open(t, dsn, nil)
}
