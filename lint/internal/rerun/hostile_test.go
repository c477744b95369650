package rerun_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/internal/testserver/dbserver"
	"github.com/semel-dev/semel/lint/internal/rerun"
)

// contents is all that a database holds, as text.
func contents(t *testing.T, d *databases.Database, tables ...string) string {
	t.Helper()
	var b strings.Builder
	read := func(table string) {
		rows, err := d.DB.QueryContext(t.Context(), "SELECT * FROM "+table+" ORDER BY 1")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		names, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			line, into := make([]any, len(names)), make([]any, len(names))
			for i := range line {
				into[i] = &line[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s%s\n", table, line)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range tables {
		read(table)
	}
	return b.String()
}

// letCopy keeps no connection to the database, so that it can be a template, where the server is another one than pg_dump knows.
func letCopy(d *databases.Database) {
	if os.Getenv(dbserver.EnvPostgresBin) != "" {
		d.DB.SetMaxIdleConns(-1)
	}
}

func texts(list ...string) (all []rerun.Statement) {
	for _, text := range list {
		all = append(all, rerun.Statement{Text: text})
	}
	return all
}

// shop is a database with rows, a trigger that writes to the database that it was made in by its full name, and a
// secret next to it.
func shop(t *testing.T, d *databases.Database) {
	t.Helper()
	d.Exec(t, "CREATE TABLE stock (id integer PRIMARY KEY, name varchar(40), n integer NOT NULL)", "CREATE TABLE log (id integer PRIMARY KEY, what varchar(40))",
		"INSERT INTO stock VALUES (1, 'pen', 5), (2, 'ink', 7)")
}

// Statements that reach beyond the copy are not run, whatever they are hidden in; the reason is given.
func TestHostile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	aim := filepath.Join(folder, "aim")
	hostile := map[dialect.Dialect][]string{
		dialect.PostgreSQL: {
			"COPY stock TO PROGRAM 'touch " + aim + "'", "COPY stock FROM '/etc/passwd'", "SELECT lo_export(1, '" + aim + "')", `SELECT "lo_import"('/etc/passwd')`,
			"SELECT pg_catalog.pg_read_file('/etc/passwd')", "UPDATE stock SET name = pg_read_file('/etc/passwd', 0, 20)", "SELECT dblink_exec('dbname=x', 'DROP TABLE stock')",
			"CREATE DATABASE more", "CREATE ROLE more SUPERUSER", "ALTER SYSTEM SET work_mem = '1GB'", "ALTER ROLE postgres PASSWORD 'x'", "DO $$ BEGIN PERFORM 1; END $$",
			"SELECT set_config('role', 'postgres', false)", "RESET ROLE", "SET ROLE postgres", "SET SESSION AUTHORIZATION postgres", "SELECT pg_sleep(100)", "SELECT pg_terminate_backend(1)",
			"SELECT pg_reload_conf()", "SELECT query_to_xml('DROP TABLE stock', true, true, '')", "CREATE EXTENSION dblink", "CREATE FUNCTION f() RETURNS int LANGUAGE c AS '/tmp/x.so', 'f'",
			"CREATE FUNCTION f() RETURNS int AS '/tmp/x.so', 'f' LANGUAGE 'C'", "CREATE SERVER s FOREIGN DATA WRAPPER postgres_fdw", "CREATE SUBSCRIPTION s CONNECTION 'host=x' PUBLICATION p",
			"SELECT 1; DROP TABLE stock", "VACUUM", "CHECKPOINT", `SELECT U&"\0070g_read_file"('/etc/passwd')`, "INSERT INTO stock SELECT 9, passwd, 1 FROM pg_shadow", "GRANT ALL ON stock TO PUBLIC",
			"WITH x AS (SELECT pg_ls_dir('/')) INSERT INTO log SELECT 1, 'x' FROM x", "CREATE TABLE more AS SELECT pg_read_file('/etc/passwd')", "PREPARE TRANSACTION 'x'",
			"CREATE TABLESPACE x LOCATION '/tmp'", "LOAD '/tmp/x.so'", "IMPORT FOREIGN SCHEMA public FROM SERVER s INTO public", "EXECUTE x", "CALL nothing()",
		},
		dialect.MySQL: {
			"SELECT * FROM stock INTO OUTFILE '" + aim + "'", "SELECT name FROM stock INTO DUMPFILE '" + aim + "'", "LOAD DATA INFILE '/etc/passwd' INTO TABLE stock", "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE stock",
			"UPDATE stock SET name = LOAD_FILE('/etc/passwd')", "SELECT SLEEP(100)", "SELECT BENCHMARK(1000000000, MD5('x'))", "CREATE DATABASE more", "CREATE USER more", "GRANT ALL ON *.* TO more", "DROP DATABASE mysql",
			"SET GLOBAL max_connections = 1", "SET STATEMENT max_statement_time = 0 FOR UPDATE stock SET n = 1", "UPDATE mysql.user SET host = '%'", "DELETE FROM mysql.proc", "SELECT /*! 1 INTO OUTFILE '" + aim + "' */",
			"CREATE TABLE more (n int) ENGINE=CONNECT", "CREATE TABLE more (n int) ENGINE = FEDERATED CONNECTION = 'mysql://x@y/z/t'", "CREATE FUNCTION f RETURNS INTEGER SONAME 'x.so'", "INSTALL PLUGIN x SONAME 'x.so'",
			"KILL 1", "SHUTDOWN", "FLUSH TABLES", "CREATE EVENT e ON SCHEDULE EVERY 1 SECOND DO DELETE FROM stock", "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'x')", "HANDLER stock OPEN", "SELECT GET_LOCK('x', 100)",
			"SELECT 1; DROP TABLE stock", "SELECT RELEASE_ALL_LOCKS()", "CALL nothing()", "PREPARE x FROM 'DROP TABLE stock'", "XA START 'x'", "INSERT INTO stock SELECT 9, authentication_string, 1 FROM mysql.global_priv",
		},
		dialect.SQLite: {
			"ATTACH '" + aim + "' AS other", "VACUUM INTO '" + aim + "'", "PRAGMA journal_mode = off", "PRAGMA writable_schema = 1", "SELECT load_extension('/tmp/x.so')", "SELECT writefile('" + aim + "', 'x')",
			"SELECT readfile('/etc/passwd')", "CREATE VIRTUAL TABLE v USING fts5(a)", "DETACH main", "SELECT 1; ATTACH '" + aim + "' AS other", "UPDATE pragma_user_version SET user_version = 1", "SELECT fts3_tokenizer('x', x'00')",
		},
	}
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		letCopy(d)
		shop(t, d)
		before := contents(t, d, "stock", "log")
		outcomes, err := rerun.Run(t.Context(), d.DSN, texts(append(hostile[d.Dialect], "UPDATE stock SET n = n - 1")...), &rerun.Options{Yes: true})
		if err != nil {
			t.Fatal(err)
		}
		last := len(outcomes) - 1
		for i, got := range outcomes[:last] {
			if got.Kind != rerun.NotRun || got.Why == "" {
				t.Errorf("%s: %s\n%s", d.Dialect, hostile[d.Dialect][i], got.String())
			}
			t.Logf("%s: %s", hostile[d.Dialect][i], got.Why)
		}
		if got := outcomes[last]; got.Kind != rerun.Differs {
			t.Errorf("after all of them: %s", got.String())
		}
		if after := contents(t, d, "stock", "log"); after != before {
			t.Errorf("the original changed from\n%sto\n%s", before, after)
		}
		if _, err := os.Stat(aim); err == nil {
			t.Error("a file was written")
		}
	})
}

// What a copy takes over from the original cannot reach back to it: a trigger that names the original, a function that runs
// with the rights of a superuser.
func TestReachBack(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		letCopy(d)
		shop(t, d)
		statement := "UPDATE stock SET n = 1 WHERE id = 1"
		switch d.Dialect {
		case dialect.PostgreSQL:
			d.Exec(t, `CREATE EXTENSION dblink`, `CREATE FUNCTION reach() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
				PERFORM dblink_exec('host=127.0.0.1 user=postgres dbname=' || '`+databaseName(t, d)+`', 'DELETE FROM stock'); RETURN NEW; END $$`,
				"CREATE TRIGGER reach BEFORE UPDATE OF n ON stock FOR EACH ROW EXECUTE FUNCTION reach()",
				"CREATE FUNCTION raise() RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN ALTER SYSTEM SET work_mem = '1GB'; RETURN 1; END $$",
				"CREATE FUNCTION rights() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN RETURN (SELECT rolsuper::text || random() FROM pg_roles WHERE rolname = current_user AND rolsuper); END $$")
		case dialect.MySQL:
			d.Exec(t, "CREATE TRIGGER reach BEFORE UPDATE ON stock FOR EACH ROW DELETE FROM "+databaseName(t, d)+".log", "INSERT INTO log VALUES (1, 'x')")
		case dialect.SQLite:
			t.Skip("a trigger of SQLite names no other database")
		}
		before := contents(t, d, "stock", "log")
		outcomes, err := rerun.Run(t.Context(), d.DSN, texts(statement, "UPDATE stock SET n = raise()", "UPDATE stock SET name = rights()"), &rerun.Options{Yes: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range outcomes[:2] {
			if got.Kind != rerun.NotRun {
				t.Error(got.String())
			}
			t.Log(got.Why)
		}
		if got := outcomes[2]; d.Dialect == dialect.PostgreSQL && got.Kind == rerun.Differs {
			t.Error("a function ran with the rights of a superuser: " + got.String())
		}
		if after := contents(t, d, "stock", "log"); after != before {
			t.Errorf("the original changed from\n%sto\n%s", before, after)
		}
	})
}

func databaseName(t *testing.T, d *databases.Database) (name string) {
	t.Helper()
	query := map[dialect.Dialect]string{dialect.PostgreSQL: "SELECT current_database()", dialect.MySQL: "SELECT DATABASE()"}[d.Dialect]
	if err := d.DB.QueryRowContext(t.Context(), query).Scan(&name); err != nil {
		t.Fatal(err)
	}
	return name
}

// A statement that runs for too long, or makes too many rows, is given up, and the next one runs.
func TestBounds(t *testing.T) {
	t.Parallel()
	forever := map[dialect.Dialect]string{
		dialect.PostgreSQL: "INSERT INTO log SELECT n, 'x' FROM generate_series(10, 2000000000) n",
		dialect.MySQL:      "UPDATE stock SET n = (WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r) SELECT COUNT(*) FROM r, r AS s, r AS u)",
		dialect.SQLite:     "UPDATE stock SET n = (WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r) SELECT count(*) FROM r)",
	}
	many := map[dialect.Dialect]string{
		dialect.PostgreSQL: "INSERT INTO log SELECT n, 'x' FROM generate_series(1000, 9000) n",
		dialect.MySQL:      "INSERT INTO log WITH RECURSIVE r AS (SELECT 1000 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 1099) SELECT r.i + 1000 * s.i, 'x' FROM r, r AS s",
		dialect.SQLite:     "INSERT INTO log WITH RECURSIVE r AS (SELECT 1000 AS i UNION ALL SELECT i + 1 FROM r WHERE i < 9000) SELECT i, 'x' FROM r",
	}
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		letCopy(d)
		shop(t, d)
		outcomes, err := rerun.Run(t.Context(), d.DSN, texts(forever[d.Dialect], many[d.Dialect], "UPDATE stock SET n = 1"), &rerun.Options{Yes: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := outcomes[0]; got.Kind != rerun.NotRun || !slices.ContainsFunc([]string{"it ran for more than 2s", "recurs", "more than 100MB of temporary files"}, func(why string) bool { return strings.Contains(got.Why, why) }) {
			t.Error(got.String())
		}
		if got := outcomes[1]; got.Kind != rerun.NotRun || !strings.Contains(got.Why, "more than 2000 rows") {
			t.Error(got.String())
		}
		if got := outcomes[2]; got.Kind != rerun.Same {
			t.Error(got.String())
		}
	})
}
