package dedupe_test

import (
	"context"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
)

// A merged row is not in the view, and after an undo it is. What is written through the view is a row that is not merged.
func TestLive(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.lateTables()
		_, err := b.in.Live(b.Context(), "payment", "", false)
		b.refused(err, "payment has no column merged_into")
		view, err := b.in.Live(b.Context(), "invoice", "", false)
		noError(b.T, err)
		b.want(b.by("SELECT count(*) FROM pg_class WHERE relname = 'invoice_live'", "SELECT count(*) FROM information_schema.VIEWS WHERE TABLE_SCHEMA = database()", "SELECT count(*) FROM sqlite_schema WHERE type = 'view'"), "0")
		made, err := b.in.Live(b.Context(), "invoice", "", true)
		noError(b.T, err)
		if made.SQL != view.SQL || made.Name != b.full("invoice_live") || !made.Made || view.Made || len(made.Notes) == 0 {
			b.Errorf("it prints %+v, and makes %+v", view, made)
		}
		_, err = b.in.Live(b.Context(), "invoice", "", true)
		b.refused(err, b.full("invoice_live")+" exists already")
		_, err = b.in.Live(b.Context(), "invoice_live", "again", true)
		b.refused(err, "is a view")
		b.exec("CREATE TABLE taken (id int PRIMARY KEY)")
		_, err = b.in.Live(b.Context(), "invoice", "taken", true)
		b.refused(err, b.full("taken")+" exists already")
		const rows = "SELECT concat(id, number) FROM invoice_live ORDER BY id"
		b.want(rows, "1a 2A 3b 4B 5c")
		q := once()
		p := b.plan("invoice", "lower(number)", q)
		run := b.merge(p).Run
		b.want(rows, "1a 3b 5c")
		b.want("SELECT count(*) FROM invoice WHERE "+made.Filter, "3")
		b.writesThrough()
		b.undo(run)
		b.want(rows, "1a 2A 3b 4B 5c")
		b.merge(p)
		b.finish(p)
		b.want(rows, "1a 3b 5c")
		again, err := b.in.Live(b.Context(), "invoice", "other", true)
		noError(b.T, err)
		if strings.Contains(again.SQL, "semel_once") {
			b.Errorf("the view has columns that go with the index: %s", again.SQL)
		}
	})
}

// writesThrough writes through the view where the database does; the rows are as they were then.
func (b *bench) writesThrough() {
	b.Helper()
	if b.Dialect == dialect.SQLite {
		_, err := b.DB.ExecContext(b.Context(), "INSERT INTO invoice_live (id, number) VALUES (9, 'd')")
		if err == nil || !strings.Contains(err.Error(), "cannot modify invoice_live because it is a view") {
			b.Errorf("SQLite: %v", err)
		}
		return
	}
	b.exec("INSERT INTO invoice_live (id, number) VALUES (9, 'd')", "UPDATE invoice_live SET total = 7 WHERE number = 'd'", "UPDATE invoice_live SET total = 7 WHERE id = 2")
	b.want("SELECT concat(id, coalesce(merged_into, 0)) FROM invoice WHERE total = 7", "90")
	b.exec("DELETE FROM invoice_live WHERE id IN (2, 9)")
	b.want("SELECT id FROM invoice ORDER BY id", "1 2 3 4 5")
	if _, err := b.DB.ExecContext(b.Context(), "UPDATE invoice_live SET merged_into = 1 WHERE id = 5"); err == nil || !strings.Contains(err.Error(), "merged_into") {
		b.Errorf("a row is merged through the view: %v", err)
	}
}

// The view shows the rows that its reader may see, and not those that its owner may.
func TestLiveAndRowLevelSecurity(t *testing.T) {
	t.Parallel()
	b := wrap(t, databases.Open(t, dialect.PostgreSQL))
	b.exec("CREATE TABLE a (id int PRIMARY KEY, tenant text, merged_into int)", "INSERT INTO a VALUES (1, 'x', NULL), (2, 'y', NULL), (3, 'x', 1)",
		"ALTER TABLE a ENABLE ROW LEVEL SECURITY", "CREATE POLICY own ON a USING (tenant = 'x')")
	view, err := b.in.Live(t.Context(), "a", "", true)
	noError(t, err)
	role := "live_" + strings.ToLower(b.text("SELECT current_database()"))
	b.exec("CREATE ROLE "+role, "GRANT SELECT ON a, a_live TO "+role)
	t.Cleanup(func() {
		_, err := b.DB.ExecContext(context.WithoutCancel(t.Context()), "DROP OWNED BY "+role+"; DROP ROLE "+role)
		noError(t, err)
	})
	b.want("SELECT id FROM a_live ORDER BY id", "1 2")
	conn, err := b.DB.Conn(t.Context())
	noError(t, err)
	defer func() { noError(t, conn.Close()) }()
	_, err = conn.ExecContext(t.Context(), "SET ROLE "+role)
	noError(t, err)
	var ids string
	noError(t, conn.QueryRowContext(t.Context(), "SELECT string_agg(id::text, ' ') FROM a_live").Scan(&ids))
	if ids != "1" {
		t.Errorf("the reader sees the rows %s through %s", ids, view.SQL)
	}
	_, err = conn.ExecContext(t.Context(), "RESET ROLE")
	noError(t, err)
}
