package fencing_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	"github.com/redis/rueidis"
	_ "modernc.org/sqlite" // the driver sqlite

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/logstore"
	"github.com/semel-dev/semel/store/mysqlstore"
	"github.com/semel-dev/semel/store/pgstore"
	"github.com/semel-dev/semel/store/redisstore"
	"github.com/semel-dev/semel/store/sqlitestore"
)

// system is a user's own, with a store next to it.
type system struct {
	store  semel.Store
	guards map[string]guarded // by the way in which they refuse
	db     *sqlSystem         // nil for Redis
}

// guarded is the target of a holder's writes. A refused write returns no error.
type guarded struct {
	prepare func(ctx context.Context, resource string) error
	write   func(ctx context.Context, resource string, level int, fence semel.Fence) (written bool, err error)
	read    func(ctx context.Context, resource string) (level int, fence semel.Fence, err error)
}

func systems() map[string]func(*testing.T) *system {
	return map[string]func(*testing.T) *system{
		"postgresql": postgresSystem, "mysql": mysqlSystem, "sqlite": sqliteSystem, "redis": redisSystem,
	}
}

func sqlSystems() map[string]func(*testing.T) *system {
	all := systems()
	delete(all, "redis")
	return all
}

// stores are the systems, and each store that is not next to one there.
func stores() map[string]func(*testing.T) *system {
	all := systems()
	all["log"] = logSystem
	return all
}

func postgresSystem(t *testing.T) *system {
	t.Helper()
	dsn := testserver.PostgresDatabase(t)
	s := newSQLSystem(t, "postgresql", "pgx", dsn)
	store, err := pgstore.Open(t.Context(), dsn, nil)
	return s.system(t, store, err)
}

func mysqlSystem(t *testing.T) *system {
	t.Helper()
	dsn := testserver.MySQLDatabase(t)
	config, err := mysql.ParseDSN(dsn)
	must(t, err)
	config.ClientFoundRows = true
	s := newSQLSystem(t, "mysql", "mysql", config.FormatDSN())
	store, err := mysqlstore.Open(t.Context(), dsn, nil)
	return s.system(t, store, err)
}

func sqliteSystem(t *testing.T) *system {
	t.Helper()
	file := filepath.Join(t.TempDir(), "shop.db")
	s := newSQLSystem(t, "sqlite", "sqlite",
		"file:"+file+"?_pragma=journal_mode(wal)&_pragma=busy_timeout(60000)&_txlock=immediate")
	store, err := sqlitestore.Open(t.Context(), file+".semel", nil)
	return s.system(t, store, err)
}

// logSystem is a SQLite database next to records in a log.
func logSystem(t *testing.T) *system {
	t.Helper()
	s := sqliteSystem(t)
	store, err := logstore.Open(t.Context(), filepath.Join(t.TempDir(), "records"), nil)
	return s.db.system(t, store, err)
}

// sqlSystem runs the statements of one dialect.
type sqlSystem struct {
	db      *sql.DB
	dialect string
	text    func(name string) string
}

func newSQLSystem(t *testing.T, dialect, driver, dsn string) *sqlSystem {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	must(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &sqlSystem{db: db, dialect: dialect, text: func(name string) string { return snippet(t, dialect+" "+name) }}
	for _, name := range []string{"column/schema", "table/schema", "once/schema"} {
		if _, err := db.ExecContext(t.Context(), s.text(name)); err != nil {
			t.Fatalf("%s %s: %v", dialect, name, err)
		}
	}
	return s
}

func (s *sqlSystem) system(t *testing.T, store semel.Store, err error) *system {
	t.Helper()
	must(t, err)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return &system{store: store, db: s, guards: map[string]guarded{
		"update": {s.insertRow, s.update, s.read},
		"upsert": {func(context.Context, string) error { return nil }, s.upsert, s.read},
		"table":  {s.insertRow, s.advance, s.read},
	}}
}

// own puts values into a statement that is not of the page: a test's own.
func own(format string, args ...any) string { return fmt.Sprintf(format, args...) }

func (s *sqlSystem) insertRow(ctx context.Context, sku string) error {
	_, err := s.db.ExecContext(ctx, own("INSERT INTO stock (sku, level) VALUES ('%s', 0)", sku))
	return err
}

func (s *sqlSystem) read(ctx context.Context, sku string) (level int, fence semel.Fence, err error) {
	err = s.db.QueryRowContext(ctx, own("SELECT level, fence FROM stock WHERE sku = '%s'", sku)).Scan(&level, &fence)
	return level, fence, err
}

func (s *sqlSystem) update(ctx context.Context, sku string, level int, fence semel.Fence) (bool, error) {
	args := []any{sku, level, fence}
	if s.dialect == "mysql" {
		args = []any{level, fence, sku, fence}
	}
	return one(s.db.ExecContext(ctx, s.text("column/update"), args...))
}

func (s *sqlSystem) upsert(ctx context.Context, sku string, level int, fence semel.Fence) (bool, error) {
	written, err := one(s.db.ExecContext(ctx, s.text("column/upsert"), sku, level, fence))
	if s.dialect != "mysql" || err != nil {
		return written, err
	}
	return there(s.db.QueryRowContext(ctx, s.text("column/accepted"), sku, fence))
}

// advance writes a row that has no guard of its own, behind the fence table.
func (s *sqlSystem) advance(ctx context.Context, sku string, level int, fence semel.Fence) (written bool, err error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() {
		if !written || err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	if written, err = one(tx.ExecContext(ctx, s.text("table/advance"), sku, fence)); err != nil {
		return false, err
	}
	if s.dialect == "mysql" {
		written, err = there(tx.QueryRowContext(ctx, s.text("table/accepted"), sku, fence))
	}
	if !written || err != nil {
		return false, err
	}
	_, err = tx.ExecContext(ctx, own("UPDATE stock SET level = %d, fence = %d WHERE sku = '%s'", level, uint64(fence), sku))
	if err != nil {
		return false, err
	}
	return true, tx.Commit()
}

// insertOnce reports whether the row was not there yet.
func (s *sqlSystem) insertOnce(ctx context.Context, intent semel.Digest, amount int, fence semel.Fence) (bool, error) {
	written, err := one(s.db.ExecContext(ctx, s.text("once/insert"), intent[:], amount, fence))
	var clash *mysql.MySQLError
	if errors.As(err, &clash) && clash.Number == 1062 {
		return false, nil
	}
	return written, err
}

func one(res sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

func there(row *sql.Row) (bool, error) {
	var n int
	err := row.Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func redisSystem(t *testing.T) *system {
	t.Helper()
	addr, prefix := testserver.Redis(t), testserver.RedisPrefix(t)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true})
	must(t, err)
	t.Cleanup(client.Close)
	store, err := redisstore.New(client, &redisstore.Options{Prefix: prefix + "records"})
	must(t, err)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	script := rueidis.NewLuaScript(snippet(t, "redis column/update"))
	return &system{store: store, guards: map[string]guarded{"script": {
		prepare: func(context.Context, string) error { return nil },
		write: func(ctx context.Context, resource string, level int, fence semel.Fence) (bool, error) {
			args := []string{strconv.FormatUint(uint64(fence), 10), strconv.Itoa(level)}
			n, err := script.Exec(ctx, client, []string{prefix + resource}, args).AsInt64()
			return n == 1, err
		},
		read: func(ctx context.Context, resource string) (level int, fence semel.Fence, err error) {
			row, err := client.Do(ctx, client.B().Hgetall().Key(prefix+resource).Build()).AsStrMap()
			if err != nil || len(row) == 0 {
				return 0, 0, err
			}
			if level, err = strconv.Atoi(row["value"]); err != nil {
				return 0, 0, err
			}
			n, err := strconv.ParseUint(row["fence"], 10, 64)
			return level, semel.Fence(n), err
		},
	}}}
}

var must = claimtest.NoError
