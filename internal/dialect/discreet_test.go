package dialect_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
)

// The text of an error has the names of what a row met, and nothing of the row: for every kind of refusal of the real servers.
func TestDiscreet(t *testing.T) {
	t.Parallel()
	databases.Each(t, func(t *testing.T, d *databases.Database) {
		d.Exec(t, "CREATE TABLE town (id int PRIMARY KEY)",
			"CREATE TABLE person (id int NOT NULL, mail varchar(20), age int NOT NULL, town int, CONSTRAINT one_mail UNIQUE (mail), CONSTRAINT adult CHECK (age > 17), CONSTRAINT lives FOREIGN KEY (town) REFERENCES town (id))",
			"INSERT INTO person VALUES (1, 'private@x.org', 40, NULL)", trigger(d.Dialect))
		if d.Dialect == dialect.PostgreSQL {
			d.Exec(t, "CREATE TRIGGER watch BEFORE DELETE ON person FOR EACH ROW EXECUTE FUNCTION watch()")
		}
		for statement, want := range map[string][3]string{
			"INSERT INTO person VALUES (2, 'private@x.org', 41, NULL)": {"one_mail", "one_mail", "person.mail"},
			"INSERT INTO person VALUES (3, 'private', 7, NULL)":        {"adult", "adult", "adult"},
			"INSERT INTO person VALUES (4, 'private', 43, 777)":        {"lives", "lives", ""},
			"INSERT INTO person VALUES (5, 'private', NULL, NULL)":     {"age", "age", "person.age"},
			"UPDATE person SET age = concat(mail, '')":                 {"", "age", ""},
			"DELETE FROM person":                             {"function watch", "1644", "a trigger refuses it"},
			"SELECT missing FROM person WHERE mail = 'else'": {"missing", "missing", "missing"},
		} {
			if d.Dialect == dialect.PostgreSQL {
				statement = strings.Replace(statement, "concat(mail, '')", "CAST(mail AS int)", 1)
			}
			_, err := d.DB.ExecContext(context.WithoutCancel(t.Context()), statement)
			name := want[d.Dialect-1]
			if err == nil {
				if name != "" {
					t.Errorf("%s: no error", statement)
				}
				continue
			}
			quiet := dialect.Discreet(fmt.Errorf("write the row: %w", err))
			if text := quiet.Error(); !strings.HasPrefix(text, "write the row: ") || !strings.Contains(text, name) || strings.Contains(text, "private") || strings.Contains(text, "777") {
				t.Errorf("%s: %q, want %q in it (the database says %q)", statement, text, name, err)
			}
			if text := dialect.Discreet(errors.Join(errors.New("one"), err, fmt.Errorf("two: %w", err))).Error(); strings.Contains(text, "private") || !strings.Contains(text, "\ntwo: ") {
				t.Errorf("%s, joined: %q", statement, text)
			}
			if text := fmt.Sprint(dialect.DiscreetPanic(err), dialect.DiscreetPanic("private")); strings.Count(text, "private") != 1 {
				t.Errorf("%s, in a panic: %q", statement, text)
			}
			before, _ := dialect.Refused(err)
			if after, ok := dialect.Refused(quiet); !ok || after.State != before.State || after.Number != before.Number {
				t.Errorf("%s: the code is lost: %v", statement, after)
			}
		}
	})
}

// trigger raises an error that has a value of the row.
func trigger(d dialect.Dialect) string {
	switch d {
	case dialect.PostgreSQL:
		return "CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'the person % stays', old.mail USING ERRCODE = '42501'; END $$"
	case dialect.MySQL:
		return "CREATE TRIGGER watch BEFORE DELETE ON person FOR EACH ROW BEGIN SET @semel_text = concat('the person ', old.mail); SIGNAL SQLSTATE '42000' SET MESSAGE_TEXT = @semel_text; END"
	case dialect.SQLite:
	}
	return "CREATE TRIGGER watch BEFORE DELETE ON person BEGIN SELECT RAISE(ABORT, 'the private person stays'); END"
}
