package dedupe_test

import (
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/schema/dedupe"
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

// SQLite: what OR REPLACE does, and names that others have.
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
	b.refuses("INSERT OR REPLACE INTO invoice (id, number) VALUES (9, 'B')")
	b.exec("INSERT OR REPLACE INTO invoice (id, number, note) VALUES (3, 'B', 'again')")
	b.exec("CREATE TABLE other (id int)", "CREATE INDEX once ON other (id)")
	b.merge(p)
	_, err = b.tryFinish(p)
	b.refused(err, "the name once of the unique index to come is taken by an index of other")
}
