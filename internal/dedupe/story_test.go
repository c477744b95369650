package dedupe_test

import (
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dedupe"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
)

// refuses wants a statement to fail as a violation of a unique index.
func (b *bench) refuses(statement string) {
	b.Helper()
	_, err := b.DB.ExecContext(b.Context(), statement)
	if err == nil {
		b.Errorf("%s is not refused", statement)
		return
	}
	for _, want := range []string{"23505", "UNIQUE constraint failed: index 'once'", "1062"} {
		if strings.Contains(err.Error(), want) {
			return
		}
	}
	b.Errorf("%s: %v", statement, err)
}

// Guard, run, finish and undo in every database.
func TestStory(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.lateTables()
		q := once()
		p := b.plan("invoice", "lower(number)", q)
		before := b.state()
		b.guard(p)
		b.guard(p)
		b.refuses("INSERT INTO invoice (id, number) VALUES (9, 'C')")
		b.refuses("UPDATE invoice SET number = 'C' WHERE id = 1")
		b.exec("UPDATE invoice SET total = 21, number = 'a' WHERE id = 2", "UPDATE invoice SET total = 20, number = 'A' WHERE id = 2")
		_, err := b.tryFinish(p)
		b.refused(err, "2 groups of rows that are the same by this rule, such as 1 and 2; 3 and 4")
		run := b.merge(p).Run
		b.exec("INSERT INTO payment VALUES (3000, 2, 4)")
		b.want("SELECT concat(invoice_id, '@', other_id) FROM payment WHERE id = 3000", "1@3")
		if done := b.finish(p); !done.Built || !done.Guard || done.Swept != 0 {
			b.Errorf("finished: %+v", done)
		}
		b.refuses("INSERT INTO invoice (id, number) VALUES (9, 'C')")
		if done := b.finish(p); done.Built {
			b.Errorf("finished again: %+v", done)
		}
		_, err = b.undoPart(dedupe.Target{Run: run})
		b.refused(err, "semel dedupe finish made the unique index once: let the guard take its place with --drop-index")
		b.undoWithIndex(run)
		b.refuses("INSERT INTO invoice (id, number) VALUES (9, 'C')")
		removed, err := b.in.RemoveGuard(b.Context(), "", "")
		if err != nil || removed == nil || len(removed.Triggers) < 2 {
			b.Errorf("removed %+v, %v", removed, err)
		}
		b.exec("INSERT INTO invoice (id, number) VALUES (9, 'C')", "DELETE FROM invoice WHERE id = 9", "DELETE FROM payment WHERE id = 3000")
		b.restored(before)
	})
}

// SQLite: what OR REPLACE and OR IGNORE do, and names that others have.
func TestGuardOfSQLite(t *testing.T) {
	t.Parallel()
	b := wrap(t, databases.Open(t, dialect.SQLite))
	b.exec("CREATE TABLE invoice (id INTEGER PRIMARY KEY, number TEXT, note TEXT)",
		"INSERT INTO invoice (id, number) VALUES (1, 'a'), (2, 'A '), (3, 'b'), (4, NULL)")
	q := request()
	q.Index = "once"
	p := b.plan("invoice", "lower(trim(number))", q)
	b.exec("CREATE TRIGGER semel_dedupe_guard_invoice_insert AFTER INSERT ON invoice BEGIN SELECT 1; END")
	_, err := b.in.InstallGuard(t.Context(), p, &dedupe.Options{By: "test"})
	b.refused(err, "invoice has a trigger semel_dedupe_guard_invoice_insert already, which does not belong to this guard")
	b.exec("DROP TRIGGER semel_dedupe_guard_invoice_insert")
	b.guard(p)
	b.refuses("INSERT INTO invoice (id, number) VALUES (9, ' B')")
	b.refuses("INSERT OR IGNORE INTO invoice (id, number) VALUES (9, 'B')")
	b.refuses("INSERT OR REPLACE INTO invoice (id, number) VALUES (9, 'B')")
	b.refuses("INSERT INTO invoice (number) VALUES ('x'), ('X')")
	b.exec("INSERT OR REPLACE INTO invoice (id, number, note) VALUES (3, 'B', 'again')", "INSERT INTO invoice (number) VALUES (NULL), ('y')", "UPDATE invoice SET note = 'old' WHERE id = 2",
		"UPDATE invoice SET number = ' a' WHERE id = 2")
	all, err := b.in.Guards(t.Context())
	if err != nil || len(all) != 1 || all[0].State != "installed" || all[0].Installed == nil {
		t.Errorf("the guards are %+v, %v", all, err)
	}
	b.exec("DROP TRIGGER semel_dedupe_guard_invoice_update")
	if all, err = b.in.Guards(t.Context()); err != nil || all[0].State != "damaged" {
		t.Errorf("the guards are %+v, %v", all, err)
	}
	b.guard(p)
	b.refuses("UPDATE invoice SET number = 'b ' WHERE id = 1")
	b.exec("CREATE TABLE other (id int)", "CREATE INDEX once ON other (id)")
	b.merge(p)
	_, err = b.tryFinish(p)
	b.refused(err, "the name once of the unique index to come is taken by an index of other")
	b.exec("DROP TABLE other")
	if done := b.finish(p); !done.Built || !done.Guard {
		t.Errorf("finished: %+v", done)
	}
	b.want("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'semel_dedupe_guard_%'", "0")
	b.refuses("INSERT INTO invoice (id, number) VALUES (9, ' B')")
}
