package rerun_test

import (
	"bufio"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/lint/internal/rerun"
)

// childDSN tells the test process to be the one that is killed.
const childDSN = "SEMEL_PROVE_TEST_CHILD"

// TestChild runs statements until it is killed.
//
//nolint:paralleltest // it is alone in its process.
func TestChild(t *testing.T) {
	dsn := os.Getenv(childDSN)
	if dsn == "" {
		t.Skip("TestKilled starts it")
	}
	list := texts(slices.Repeat([]string{"UPDATE stock SET n = 1"}, 10_000)...)
	_, err := rerun.Run(t.Context(), dsn, list, &rerun.Options{Yes: true, Progress: func(done, _ int, _ string) {
		if done == 1 {
			_, _ = os.Stdout.WriteString("running\n")
		}
	}})
	t.Error(err)
}

// copies lists the copies, roles and users on a server.
func copies(t *testing.T, d *databases.Database) (list []string) {
	t.Helper()
	query := map[dialect.Dialect]string{
		dialect.PostgreSQL: "SELECT datname FROM pg_database WHERE datname LIKE 'semel\\_prove\\_%' UNION ALL SELECT rolname FROM pg_roles WHERE rolname LIKE 'semel\\_prove\\_%'",
		dialect.MySQL:      "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'semel\\_prove\\_%' UNION ALL SELECT User FROM mysql.user WHERE User LIKE 'semel\\_prove\\_%'",
	}[d.Dialect]
	rows, err := d.DB.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name sql.NullString
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		list = append(list, name.String)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// The copy of a process that is killed in the middle is dropped by the next run, that of a process that lives is not.
func TestKilled(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		letCopy(d)
		if d.Dialect == dialect.SQLite {
			t.Skip("its copies are in memory")
		}
		shop(t, d)
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$")
		child.Env = append(os.Environ(), childDSN+"="+d.DSN)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "running\n" {
			t.Fatalf("%q, %v", line, err)
		}
		const base = 36
		mark := "semel_prove_" + strconv.FormatInt(int64(child.Process.Pid), base) + "_"
		left := slices.DeleteFunc(copies(t, d), func(name string) bool { return !strings.HasPrefix(name, mark) })
		if len(left) < 2 {
			t.Fatalf("no copy is in use: %v", left)
		}
		next := func() []string {
			if _, err := rerun.Run(t.Context(), d.DSN, texts("UPDATE stock SET n = 1"), &rerun.Options{Yes: true}); err != nil {
				t.Fatal(err)
			}
			now := copies(t, d)
			return slices.DeleteFunc(slices.Clone(left), func(name string) bool { return !slices.Contains(now, name) })
		}
		if now := next(); len(now) != len(left) {
			t.Errorf("a copy in use was dropped: %v of %v are there", now, left)
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait()
		deadline := time.Now().Add(time.Minute) // the server has to notice
		for now := next(); len(now) > 0; now = next() {
			if time.Now().After(deadline) {
				t.Fatalf("%v are left", now)
			}
		}
	})
}

// A copy is refused, or a run with a wrong DSN, before anything is made; no error repeats a password.
func TestRefused(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]error{
		"postgres://u:s3cret@db.example/test": rerun.ErrRefused, "mysql://u:s3cret@10.0.0.1/test": rerun.ErrRefused, "postgres://u:s3cret@127.0.0.1,db.example/test": rerun.ErrRefused,
		"shop.db": opendb.ErrDSN, "": opendb.ErrDSN, "oracle://u:s3cret@h/d": opendb.ErrDSN, "postgres://u:s3cret@host:port/db": opendb.ErrDSN, "sqlite::memory:": opendb.ErrDSN,
		"postgres://u:s3cret@127.0.0.1:1/test": nil, "mysql://u:s3cret@127.0.0.1:1/test": nil, "sqlite:/absent.db": nil,
	} {
		_, err := rerun.Run(t.Context(), dsn, texts("SELECT 1"), nil)
		if err == nil || want != nil && !errors.Is(err, want) || want == nil && (errors.Is(err, rerun.ErrRefused) || errors.Is(err, opendb.ErrDSN)) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v, want %v", dsn, err, want)
		}
	}
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		letCopy(d)
		if d.Dialect != dialect.SQLite { // the names of the others say test
			return
		}
		shop(t, d)
		path := strings.Replace(d.DSN, "test.db", "shop.db", 1)
		d.Exec(t, "VACUUM INTO '"+strings.TrimPrefix(path, "sqlite:")+"'")
		if _, err := rerun.Run(t.Context(), path, texts("SELECT 1"), nil); !errors.Is(err, rerun.ErrRefused) {
			t.Errorf("a database with rows: %v", err)
		}
		if _, err := rerun.Run(t.Context(), path, texts("SELECT 1"), &rerun.Options{Yes: true}); err != nil {
			t.Error(err)
		}
		got, err := rerun.Run(t.Context(), path, []rerun.Statement{{Text: "UPDATE stock SET n = 1", Dialects: []dialect.Dialect{dialect.MySQL}}}, &rerun.Options{Yes: true})
		if err != nil || got[0].Kind != rerun.NotRun || !strings.Contains(got[0].Why, "written for mysql") {
			t.Errorf("%v, %v", got, err)
		}
	})
}
