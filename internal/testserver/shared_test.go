package testserver_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/rueidis"

	"github.com/semel-dev/semel/internal/testserver"
)

// A test's data on a shared server is gone after it, and no other test sees it.
func TestIsolation(t *testing.T) {
	t.Parallel()
	const schemas = "SELECT schema_name FROM information_schema.schemata"
	for name, tt := range map[string]struct {
		driver, present, all string
		server, database     func(testing.TB) string
	}{
		"PostgresDatabase": {"pgx", "SELECT current_database()", "SELECT datname FROM pg_database", testserver.Postgres, testserver.PostgresDatabase},
		"MySQLDatabase":    {"mysql", "SELECT database()", schemas, testserver.MySQL, testserver.MySQLDatabase},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var made string
			within(t, func(t *testing.T) {
				t.Helper()
				db := open(t, tt.driver, tt.database(t))
				must(t, db, "CREATE TABLE t (id int)")
				made = column(t, db, tt.present)[0]
			})
			if got := column(t, open(t, tt.driver, tt.server(t)), tt.all); slices.Contains(got, made) {
				t.Errorf("database %s is left in %v", made, got)
			}
		})
	}
	t.Run("PostgresSchema", func(t *testing.T) {
		t.Parallel()
		db := open(t, "pgx", testserver.Postgres(t))
		var made string
		within(t, func(t *testing.T) {
			t.Helper()
			made = testserver.PostgresSchema(t)
			must(t, db, "CREATE SCHEMA "+made)
			must(t, db, "CREATE TABLE "+made+".t (id int)")
		})
		if got := column(t, db, schemas); slices.Contains(got, made) {
			t.Errorf("schema %s is left in %v", made, got)
		}
	})
	for name, addrs := range map[string]func(t *testing.T) []string{
		"RedisPrefix":              func(t *testing.T) []string { t.Helper(); return []string{testserver.Redis(t)} },
		"RedisPrefix of a cluster": func(t *testing.T) []string { t.Helper(); return testserver.RedisCluster(t) },
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); checkPrefix(t, addrs) })
	}
}

// within runs a test to its end, its cleanup included.
func within(t *testing.T, f func(*testing.T)) {
	t.Helper()
	t.Run("within", f)
}

func checkPrefix(t *testing.T, addrs func(*testing.T) []string) {
	t.Helper()
	client := redisClient(t, addrs(t)...)
	var keys []string
	within(t, func(t *testing.T) {
		t.Helper()
		prefix := testserver.RedisPrefix(t, addrs(t)...)
		for _, key := range []string{prefix + "a", prefix + "b", "{" + prefix + "c}d"} {
			keys = append(keys, key)
			noError(t, client.Do(t.Context(), client.B().Set().Key(key).Value("1").Build()).Error())
		}
	})
	for _, key := range keys {
		n, err := client.Do(t.Context(), client.B().Exists().Key(key).Build()).AsInt64()
		if err != nil || n != 0 {
			t.Errorf("key %s is left (%v)", key, err)
		}
	}
}

func redisClient(t *testing.T, addrs ...string) rueidis.Client {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: addrs, DisableCache: true, ForceSingleClient: len(addrs) == 1})
	noError(t, err)
	t.Cleanup(client.Close)
	return client
}

func open(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	noError(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func must(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(context.WithoutCancel(t.Context()), statement, args...); err != nil {
		t.Fatal(err)
	}
}

func column(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	noError(t, err)
	defer rows.Close()
	var values []string
	for rows.Next() {
		var v string
		noError(t, rows.Scan(&v))
		values = append(values, v)
	}
	noError(t, rows.Err())
	return values
}

// What goes through the pool arrives at the server.
func TestPgBouncer(t *testing.T) {
	t.Parallel()
	dsn := testserver.PostgresDatabase(t)
	pool := testserver.StartPgBouncer(t, dsn, "transaction")
	db, through := open(t, "pgx", dsn), open(t, "pgx", pool.DSN()+"&default_query_exec_mode=simple_protocol")
	must(t, through, "CREATE TABLE t (id int)")
	must(t, db, "INSERT INTO t VALUES (1)")
	if got := len(column(t, through, "SELECT id FROM t")); got != 1 {
		t.Errorf("got %d rows, want 1", got)
	}
}
