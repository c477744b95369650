package lint_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/lint"
)

// truth is the folder of the labelled statements and their schemas.
const truth = "../lint/internal/judge/testdata/"

func readSchema(t *testing.T, o *lint.Options) *lint.Schema {
	t.Helper()
	s, err := lint.ReadSchema(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// live is the schema of a database after some statements.
func live(t *testing.T, d *databases.Database) *lint.Schema {
	t.Helper()
	return readSchema(t, &lint.Options{Database: &lint.Database{DB: d.DB, Dialect: d.Dialect.String()}})
}

// define runs the statements of a schema's file.
func define(t *testing.T, d *databases.Database, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d.Dialect != dialect.MySQL {
		d.Exec(t, string(text))
		return
	}
	for statement := range strings.SplitSeq(string(text), ";\n") {
		for one := range strings.SplitSeq(statement, "; create") {
			if one = strings.TrimSuffix(strings.TrimSpace(one), ";"); one != "" && !strings.HasPrefix(one, "create") {
				one = "create " + one
			}
			if one != "" {
				d.Exec(t, one)
			}
		}
	}
}

// A live database leads to the same verdicts as the statements that made it.
func TestLiveAsFiles(t *testing.T) {
	t.Parallel()
	rows, err := os.ReadFile(truth + "truth.tsv")
	if err != nil {
		t.Fatal(err)
	}
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		file := truth + "schema_" + d.Dialect.String() + ".sql"
		define(t, d, file)
		asked, written := live(t, d), readSchema(t, &lint.Options{Dialect: d.Dialect.String(), Schema: []string{file}})
		compared := 0
		for line := range strings.Lines(string(rows)) {
			fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			if fields[0] != d.Dialect.String() {
				continue
			}
			got, want := asked.Statements("x.sql", fields[3]), written.Statements("x.sql", fields[3])
			if len(got) != 1 || len(want) != 1 || got[0].Verdict != want[0].Verdict || got[0].Rule != want[0].Rule {
				t.Errorf("%s\ngot  %+v\nwant %+v", fields[3], got, want)
			}
			compared++
		}
		if compared < 100 {
			t.Errorf("only %d statements were compared", compared)
		}
	})
}

// verdict judges one statement.
func verdict(t *testing.T, s *lint.Schema, text string) lint.Finding {
	t.Helper()
	found := s.Statements(filepath.Join("queries", "x.sql"), text)
	if len(found) != 1 {
		t.Fatalf("%s: %+v", text, found)
	}
	return found[0]
}

// told is a statement, the verdict that it gets, and a word of the reason.
type told struct {
	text, why string
	verdict   lint.Verdict
}

func expect(t *testing.T, s *lint.Schema, all []told) {
	t.Helper()
	for _, want := range all {
		if got := verdict(t, s, want.text); got.Verdict != want.verdict || !strings.Contains(got.Why, want.why) {
			t.Errorf("%s\ngot  %s: %s [%s]\nwant %s: %s", want.text, got.Verdict, got.Why, got.Rule, want.verdict, want.why)
		}
	}
}

// What PostgreSQL alone has is read: partial keys, expressions, collations, domains, identities, inheritance, and names that two
// schemas share.
func TestLivePostgres(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.PostgreSQL)
	d.Exec(t, `CREATE SCHEMA billing`,
		`CREATE TABLE doc (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, ref text NOT NULL, owner int, gone boolean NOT NULL DEFAULT false, "Mixed Case" text)`,
		`CREATE UNIQUE INDEX doc_ref ON doc (ref) WHERE NOT gone`,
		`CREATE UNIQUE INDEX doc_mixed ON doc (lower("Mixed Case"), owner)`,
		`CREATE TABLE billing.doc (id bigserial PRIMARY KEY, ref text)`,
		`CREATE TABLE billing.later (id bigserial PRIMARY KEY, ref text NOT NULL UNIQUE)`,
		`CREATE TABLE room (id bigserial PRIMARY KEY, name text NOT NULL, at int4range NOT NULL, EXCLUDE USING hash (name WITH =))`,
		`CREATE TABLE stay (id bigserial PRIMARY KEY, at int4range NOT NULL, EXCLUDE USING gist (at WITH &&))`,
		`CREATE TABLE log (line text)`,
		`CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log (line) VALUES ('x'); RETURN NULL; END $$`,
		`CREATE TRIGGER telling AFTER UPDATE ON doc FOR EACH ROW EXECUTE FUNCTION tell()`,
		`CREATE DOMAIN token AS uuid DEFAULT gen_random_uuid()`,
		`CREATE TABLE session (id token PRIMARY KEY, n int)`,
		`CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`,
		`CREATE TABLE person (id int PRIMARY KEY, name text COLLATE loose, n int NOT NULL)`,
		`CREATE TABLE event (id int, day date, n int, PRIMARY KEY (id, day)) PARTITION BY RANGE (day)`,
		`CREATE TABLE event_old PARTITION OF event DEFAULT`,
		`CREATE TABLE bare ()`,
		`CREATE MATERIALIZED VIEW totals AS SELECT count(*) AS n FROM doc`)
	expect(t, live(t, d), []told{
		{`INSERT INTO doc (ref) VALUES ($1) ON CONFLICT DO NOTHING`, "", lint.CannotTell}, // the search path says which of two
		{`INSERT INTO public.doc (ref, gone) VALUES ($1, true) ON CONFLICT DO NOTHING`, "", lint.NotSafe},
		{`UPDATE public.doc SET owner = 5 WHERE id = $1`, "trigger", lint.NotSafe},
		{`UPDATE billing.doc SET ref = 'x' WHERE id = $1`, "", lint.Safe},
		{`INSERT INTO billing.doc (ref) VALUES ($1)`, "", lint.NotSafe},
		{`INSERT INTO public.doc (ref) VALUES ($1) ON CONFLICT DO NOTHING`, "", lint.Safe},
		{`INSERT INTO billing.later (ref) VALUES ($1)`, "", lint.Safe},
		{`INSERT INTO room (name, at) VALUES ($1, $2)`, "", lint.Safe},
		{`INSERT INTO stay (at) VALUES ($1)`, "", lint.NotSafe},
		{`INSERT INTO session (n) VALUES ($1)`, "", lint.NotSafe},
		{`INSERT INTO session (id, n) VALUES ($1, $2)`, "", lint.Safe},
		{`UPDATE person SET n = n + 1, name = 'ABC' WHERE name = 'abc'`, "", lint.NotSafe},
		{`UPDATE event_old SET n = 5 WHERE id = $1`, "partitions or heirs", lint.CannotTell},
		{`UPDATE absent SET n = 5 WHERE id = $1`, "", lint.CannotTell},
	})
}

// What MySQL hides from a user is not taken for absent: triggers, views, other databases.
func TestLiveMySQL(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.MySQL)
	d.Exec(t, "CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL)", "CREATE TABLE log (line varchar(20))", "CREATE TABLE plain (id int PRIMARY KEY, n int)",
		"CREATE TRIGGER tr AFTER UPDATE ON t FOR EACH ROW BEGIN INSERT INTO log VALUES ('x'); INSERT INTO log VALUES ('y'); END",
		"CREATE VIEW v AS SELECT id, n FROM plain")
	s := live(t, d)
	expect(t, s, []told{
		{"UPDATE t SET n = 5 WHERE id = ?", "trigger", lint.NotSafe},
		{"UPDATE plain SET n = 5 WHERE id = ?", "", lint.Safe},
		{"UPDATE v SET n = 5 WHERE id = ?", "", lint.Safe},
		{"UPDATE elsewhere.plain SET n = 5 WHERE id = ?", "", lint.CannotTell},
	})
	var database, mode string
	if err := d.DB.QueryRowContext(t.Context(), "SELECT DATABASE(), @@SESSION.sql_mode").Scan(&database, &mode); err != nil {
		t.Fatal(err)
	}
	if mode == "" {
		t.Error("the SQL mode of the session was not restored")
	}
	expect(t, s, []told{{"UPDATE `" + database + "`.plain SET n = 5 WHERE id = ?", "", lint.Safe}})
	user := database[:min(len(database), 30)]
	d.Exec(t, "CREATE USER '"+user+"'@'%' IDENTIFIED BY 'x'", "GRANT SELECT ON `"+database+"`.* TO '"+user+"'@'%'")
	t.Cleanup(func() { _, _ = d.DB.ExecContext(context.WithoutCancel(t.Context()), "DROP USER '"+user+"'@'%'") })
	_, rest, _ := strings.Cut(d.DSN, "@")
	weak := &databases.Database{Dialect: d.Dialect, DB: databases.Connect(t, "mysql", user+":x@"+rest)}
	expect(t, live(t, weak), []told{
		{"UPDATE t SET n = 5 WHERE id = ?", "GRANT TRIGGER", lint.CannotTell},
		{"UPDATE v SET n = 5 WHERE id = ?", "", lint.CannotTell},
	})
	d.Exec(t, "GRANT TRIGGER, SHOW VIEW ON `"+database+"`.* TO '"+user+"'@'%'")
	expect(t, live(t, weak), []told{{"UPDATE t SET n = 5 WHERE id = ?", "trigger", lint.NotSafe}, {"UPDATE v SET n = 5 WHERE id = ?", "", lint.Safe}})
}

// A server says whether it refuses what a column cannot hold: then a guard by arithmetic assumes nothing, otherwise it guards nothing.
func TestLiveMode(t *testing.T) {
	t.Parallel()
	server := testserver.StartMySQL(t, nil) // the mode is that of all sessions, those of other tests among them
	db := databases.Connect(t, "mysql", server.DSN()+"mysql")
	const guard = "UPDATE stock SET n = n - 5, version = version + 1 WHERE id = ? AND version = ?"
	for mode, want := range map[string]lint.Verdict{"": lint.NotSafe, "NO_ENGINE_SUBSTITUTION": lint.NotSafe, "STRICT_TRANS_TABLES": lint.Safe, "ANSI_QUOTES,STRICT_ALL_TABLES": lint.Safe} {
		for _, statement := range []string{"SET GLOBAL sql_mode = '" + mode + "'", "DROP DATABASE IF EXISTS shop", "CREATE DATABASE shop", "CREATE TABLE shop.stock (id int PRIMARY KEY, n int, version int)"} {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		shop := &databases.Database{Dialect: dialect.MySQL, DB: databases.Connect(t, "mysql", server.DSN()+"shop")}
		if got := verdict(t, live(t, shop), guard); got.Verdict != want || len(got.Assumes) > 0 {
			t.Errorf("%q: called %s (%s) under %q", mode, got.Verdict, got.Why, got.Assumes)
		}
	}
}

// Partial keys of SQLite are read, and virtual tables are not known.
func TestLiveSQLite(t *testing.T) {
	t.Parallel()
	d := databases.Open(t, dialect.SQLite)
	d.Exec(t, `CREATE TABLE doc (id integer PRIMARY KEY, ref text NOT NULL, gone int NOT NULL DEFAULT 0)`,
		`CREATE UNIQUE INDEX doc_ref ON doc (ref) WHERE gone = 0`, `CREATE VIRTUAL TABLE words USING fts5 (word)`)
	expect(t, live(t, d), []told{
		{`INSERT INTO doc (ref, gone) VALUES (?, 0) ON CONFLICT DO NOTHING`, "", lint.Safe},
		{`INSERT INTO doc (ref, gone) VALUES (?, 1) ON CONFLICT DO NOTHING`, "", lint.NotSafe},
		{`UPDATE words SET word = upper(word)`, "virtual", lint.CannotTell},
	})
}
