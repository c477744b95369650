package rerun_test

import (
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/internal/testserver/dbserver"
	"github.com/semel-dev/semel/lint/internal/rerun"
)

// loginAs makes a user of PostgreSQL with the rights, and returns the DSN of the database as that user.
func loginAs(t *testing.T, d *databases.Database, rights string) (user, dsn string) {
	t.Helper()
	name := databaseName(t, d)
	user = "u_" + name
	d.Exec(t, "CREATE ROLE "+user+" LOGIN PASSWORD 'secret' "+rights, "GRANT CREATE ON SCHEMA public TO "+user)
	t.Cleanup(func() { // before the database is dropped
		for _, text := range []string{"ALTER DATABASE " + name + " OWNER TO CURRENT_USER", "DROP OWNED BY " + user, "DROP ROLE " + user} {
			if _, err := d.DB.Exec(text); err != nil { //nolint:noctx // the context of the test has ended.
				t.Error(err)
			}
		}
	})
	place, err := url.Parse(d.DSN)
	if err != nil {
		t.Fatal(err)
	}
	place.User = url.UserPassword(user, "secret")
	return user, place.String()
}

// A user of PostgreSQL who may create databases, and nothing else, can prove: the owner of a database without any program, another one
// with pg_dump. The error of a user who may not names the missing right. Nothing is left.
//
//nolint:paralleltest // it changes the PATH.
func TestRights(t *testing.T) {
	statements := texts("UPDATE stock SET n = n - 1", "UPDATE stock SET n = 1", "INSERT INTO stock VALUES (7, 'x', 1)")
	want := []rerun.Kind{rerun.Differs, rerun.Same, rerun.Same}
	check := func(t *testing.T, d *databases.Database, user, dsn string) {
		t.Helper()
		outcomes, err := rerun.Run(t.Context(), dsn, statements, &rerun.Options{Yes: true})
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range outcomes {
			if got.Kind != want[i] {
				t.Errorf("%s: %s", statements[i].Text, got.String())
			}
		}
		nothingOf(t, d, user)
	}
	t.Run("owner", func(t *testing.T) {
		d := databases.Open(t, dialect.PostgreSQL)
		user, dsn := loginAs(t, d, "CREATEDB")
		d.Exec(t, "ALTER DATABASE "+databaseName(t, d)+" OWNER TO "+user)
		shop(t, d)
		d.Exec(t, "ALTER TABLE stock OWNER TO "+user, "ALTER TABLE log OWNER TO "+user)
		d.DB.SetMaxIdleConns(-1) // a template may have no connection
		t.Setenv("PATH", "")
		check(t, d, user, dsn)
	})
	t.Run("reader", func(t *testing.T) {
		d := databases.Open(t, dialect.PostgreSQL)
		user, dsn := loginAs(t, d, "CREATEDB")
		shop(t, d)
		d.Exec(t, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO "+user)
		if os.Getenv(dbserver.EnvPostgresBin) != "" { // of a newer version than pg_dump
			_, err := rerun.Run(t.Context(), dsn, statements, &rerun.Options{Yes: true})
			if err == nil || !strings.Contains(err.Error(), "pg_dump is older than the server") || !strings.Contains(err.Error(), "server version: ") {
				t.Errorf("with an older pg_dump: %v", err)
			}
			nothingOf(t, d, user)
			return
		}
		check(t, d, user, dsn)
		t.Setenv("PATH", "")
		_, err := rerun.Run(t.Context(), dsn, statements, &rerun.Options{Yes: true})
		if err == nil || !strings.Contains(err.Error(), "pg_dump is not on the PATH") || strings.Contains(err.Error(), "secret") {
			t.Errorf("without pg_dump: %v", err)
		}
		nothingOf(t, d, user)
	})
	t.Run("without the right", func(t *testing.T) {
		d := databases.Open(t, dialect.PostgreSQL)
		user, dsn := loginAs(t, d, "NOCREATEDB")
		shop(t, d)
		d.Exec(t, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO "+user)
		_, err := rerun.Run(t.Context(), dsn, statements, &rerun.Options{Yes: true})
		if err == nil || !strings.Contains(err.Error(), "needs the right CREATEDB") || strings.Contains(err.Error(), "secret") {
			t.Errorf("without CREATEDB: %v", err)
		}
		nothingOf(t, d, user)
	})
}

// nothingOf reports databases that a user has left.
func nothingOf(t *testing.T, d *databases.Database, user string) {
	t.Helper()
	var left string
	query := `SELECT coalesce(string_agg(datname, ' '), '') FROM pg_database WHERE datname LIKE 'semel\_prove\_%' AND datdba = $1::regrole`
	if err := d.DB.QueryRowContext(t.Context(), query, user).Scan(&left); err != nil || left != "" {
		t.Errorf("left: %q, %v", left, err)
	}
}
