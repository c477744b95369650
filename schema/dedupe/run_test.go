package dedupe_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/schema/dedupe"
)

// Groups are never cut, whatever their size, and a limit ends a call after whole groups.
func TestBatches(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec("CREATE TABLE a (id int PRIMARY KEY, k int)", "CREATE TABLE b (id int PRIMARY KEY, a_id int REFERENCES a (id))", "CREATE INDEX b_a ON b (a_id)")
		b.fill("a", 4000, func(i int) string {
			if i <= 1500 {
				return fmt.Sprintf("%d, 0", i)
			}
			return fmt.Sprintf("%d, %d", i, i%700+1)
		})
		b.fill("b", 4000, func(i int) string { return fmt.Sprintf("%d, %d", i, i) })
		b.reversible(func() {
			p := b.plan("a", "k", request())
			report, err := b.in.Run(b.Context(), p, &dedupe.Options{By: "test", Limit: 10})
			noError(b, err)
			if report.Merged != 1499 || report.Open != 1800 {
				b.Errorf("the first call merged %d and left %d, want the group of 1499 and 1800", report.Merged, report.Open)
			}
			var steps []int
			report, err = b.in.Run(b.Context(), p, &dedupe.Options{By: "test", Progress: func(done, _ int, _ string) { steps = append(steps, done) }})
			noError(b, err)
			if !report.Resumed || report.Merged != 1800 || len(steps) < 3 {
				b.Errorf("the second call: %+v in the steps %v", report, steps)
			}
			b.want("SELECT concat(count(*), '/', count(DISTINCT k)) FROM a", "701/701")
			b.want("SELECT concat(count(*), '/', count(DISTINCT a_id)) FROM b", "4000/701")
			b.undo(report.Run)
		})
	})
}

// A row whose key changes, or that is deleted, after the run began refuses its group.
func TestRowsChangeMeanwhile(t *testing.T) {
	t.Parallel()
	shops(t, func(b *bench) {
		p := b.plan("customer", "email", request())
		_, err := b.in.Run(b.Context(), p, &dedupe.Options{By: "test", Limit: 1})
		noError(b, err)
		b.exec("UPDATE customer SET email = 'c' WHERE id = 5")
		report := b.try(p)
		if len(report.Refusals) != 1 || !strings.Contains(report.Refusals[0].Reason, "not the same any more") {
			b.Errorf("got %+v", report)
		}
		b.want("SELECT customer_id FROM orders WHERE id = 50", "5")
	})
}

// A column of --key compares as its type and its collation do, in the plan, the run, the guard and the index.
func TestKeyWithItsOwnCollation(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec(b.by("CREATE EXTENSION IF NOT EXISTS citext", "SELECT 1", "SELECT 1"),
			"CREATE TABLE person (id int PRIMARY KEY, email "+b.by("citext", "varchar(20) COLLATE utf8mb4_general_ci", "text COLLATE NOCASE")+", merged_into int)",
			"INSERT INTO person (id, email) VALUES (1, 'Ada'), (2, 'ADA'), (3, 'bob')")
		b.reversible(func() {
			p := b.plan("person", "email", once())
			if p.Losers != 1 {
				b.Errorf("the plan finds %d losers", p.Losers)
			}
			b.guard(p)
			b.refuses("INSERT INTO person (id, email) VALUES (4, 'BOB')")
			run := b.merge(p).Run
			b.finish(p)
			if _, err := b.DB.ExecContext(b.Context(), "INSERT INTO person (id, email) VALUES (4, 'aDA')"); err == nil {
				b.Error("the index lets a duplicate in")
			}
			b.undoWithIndex(run)
			_, err := b.in.RemoveGuard(b.Context(), "", "")
			noError(b.T, err)
		})
	})
}

// What refuses a group is kept and printed with its names, and without a value of a row.
func TestReasonsHoldNoValues(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec("CREATE TABLE person (id int PRIMARY KEY, email varchar(20), merged_into int)",
			"CREATE TABLE visit (id int PRIMARY KEY, person_id int NOT NULL, note varchar(20), FOREIGN KEY (person_id) REFERENCES person (id), CONSTRAINT no_note CHECK (person_id <> 1 OR note IS NULL))",
			"CREATE TABLE card (id int PRIMARY KEY, person_id int NOT NULL, number varchar(20), FOREIGN KEY (person_id) REFERENCES person (id))",
			"INSERT INTO person (id, email) VALUES (1, 'secret-mail'), (2, 'secret-mail'), (3, 'b'), (4, 'b')", "INSERT INTO visit VALUES (7, 2, 'secret-note')")
		p := b.plan("person", "email", marking())
		report := b.try(p)
		kept := b.text("SELECT concat(reason, '') FROM semel_dedupe_map WHERE state = 2")
		if len(report.Refusals) != 1 || report.Merged != 1 || !strings.Contains(kept, "no_note") || report.Refusals[0].Reason != kept || strings.Contains(kept, "secret") {
			b.Errorf("the run reports %+v and keeps %q", report, kept)
		}
	})
}

// A sum that a merge would change refuses the group, and only that.
func TestChecks(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec("CREATE TABLE a (id int PRIMARY KEY, k varchar(9))", "CREATE TABLE line (id int PRIMARY KEY, a_id int REFERENCES a (id), pos int, amount int, UNIQUE (a_id, pos))",
			"INSERT INTO a VALUES (1, 'x'), (2, 'x'), (3, 'y'), (4, 'y'); INSERT INTO line VALUES (1, 1, 1, 5), (2, 2, 1, 7), (3, 3, 1, 9), (4, 4, 2, 11)")
		b.reversible(func() {
			q := request()
			q.Checks = []string{"line.amount"}
			report := b.try(b.plan("a", "k", q))
			if len(report.Refusals) != 1 || !strings.Contains(report.Refusals[0].Reason, `the sum of amount in `+b.full("line")+` would change: the row ["1"] would not have all of what the rows that become it have`) {
				b.Errorf("got %+v", report)
			}
			b.want("SELECT id FROM a ORDER BY id", "1 2 3")
			b.undo(report.Run)
			q.Columns = []string{"line.amount=sum"}
			run := b.merge(b.plan("a", "k", q)).Run
			b.want("SELECT sum(amount) FROM line", "32")
			b.undo(run)
		})
	})
}

// One process merges at a time.
func TestTwoRuns(t *testing.T) {
	t.Parallel()
	shops(t, func(b *bench) {
		p := b.plan("customer", "email", request())
		inside := false
		b.in.Before(func(statement string) {
			if inside || !strings.HasPrefix(statement, "INSERT INTO semel_dedupe_map") {
				return
			}
			inside = true
			other := &dedupe.Database{DB: b.DB, Dialect: b.Dialect}
			_, err := other.Run(b.Context(), p, &dedupe.Options{By: "other"})
			_, undoErr := other.Undo(b.Context(), dedupe.Target{Run: 1}, &dedupe.Options{By: "other"})
			if !errors.Is(err, dedupe.ErrBusy) || !errors.Is(undoErr, dedupe.ErrBusy) {
				b.Errorf("a second run says %v, an undo %v", err, undoErr)
			}
		})
		b.merge(p)
		if !inside {
			b.Error("nothing ran")
		}
	})
}

// What a run cannot do is refused by name, before anything changes.
func TestRefusals(t *testing.T) {
	t.Parallel()
	shops(t, func(b *bench) {
		b.exec("CREATE TABLE nokey (k varchar(9), n int)", "CREATE TABLE loose (customer_id int REFERENCES customer (id))", "CREATE TABLE odd (id int PRIMARY KEY, orders_id int REFERENCES orders (id), SEMEL_o1 int)")
		q := request()
		wrong := func(change func(*dedupe.Request)) dedupe.Request {
			changed := request()
			change(&changed)
			return changed
		}
		for _, c := range []struct {
			table, terms string
			q            dedupe.Request
			want         string
		}{
			{"nokey", "k", q, "nokey has no primary key"},
			{"customer", "email", q, b.full("loose") + " refers to " + b.full("customer") + ": the table " + b.full("loose") + " has no primary key"},
			{"orders", "total", marking(), "merged_into"},
			{"orders", "total", q, b.by("semel_o1", "SEMEL_o1", "SEMEL_o1") + " of " + b.full("odd") + " has a name"},
			{"nowhere", "k", q, "no table nowhere"},
			{"orders", "nothing", q, "no column nothing"},
			{"orders", "total", wrong(func(q *dedupe.Request) { q.Columns = []string{"id=sum"} }), "a key or a reference"},
			{"orders", "total", wrong(func(q *dedupe.Request) { q.Columns = []string{"note=sum"} }), "no column note"},
			{"orders", "total", wrong(func(q *dedupe.Request) { q.Columns = []string{"total=most"} }), "keep, fill"},
			{"orders", "total", wrong(func(q *dedupe.Request) { q.Checks = []string{"nokey.n"} }), "does not touch " + b.full("nokey")},
			{"orders", "total", wrong(func(q *dedupe.Request) { q.References = []string{"nokey.x"} }), "no column x"},
			{"orders", "total", wrong(func(q *dedupe.Request) { q.Winner = "best" }), "the winner"},
		} {
			_, err := b.tryPlan(c.table, c.terms, c.q)
			b.refused(err, c.want)
		}
		b.exec("DROP TABLE loose")
		p := b.plan("customer", "email", q)
		other := *p
		other.Database = "another"
		_, err := b.in.Run(b.Context(), &other, &dedupe.Options{By: "test"})
		b.refused(err, "another database")
		b.exec("ALTER TABLE orders ADD more bigint")
		before := b.state()
		_, err = b.in.Run(b.Context(), p, &dedupe.Options{By: "test"})
		b.refused(err, "new: column "+b.full("orders")+".more bigint")
		b.restored(before)
		if all, err := b.in.Status(b.Context()); err != nil || len(all) > 0 {
			b.Errorf("after refusals, the status is %v, %v", all, err)
		}
	})
}

// goOn goes on with a run that was killed, and takes it back.
func (b *bench) goOn(p *dedupe.Plan) {
	b.Helper()
	report := b.merge(p)
	b.want("SELECT concat(count(*), '/', sum(n)) FROM a", "300/600")
	b.want("SELECT concat(count(*), '/', count(DISTINCT b_id)) FROM c", "600/300")
	b.want(`SELECT concat(count(*), '/', count(DISTINCT concat(tbl, audit.key))) FROM semel_dedupe_audit AS audit WHERE step = 2 AND undone_at IS NULL`, "600/600")
	b.want("SELECT count(*) FROM semel_dedupe_run WHERE undone_at IS NULL", "1")
	if report.Run == 0 {
		report.Run = b.lastRun()
	}
	b.undo(report.Run)
}

// A run that is killed at any of its statements goes on with the next call, and does nothing twice.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec("CREATE TABLE a (id int PRIMARY KEY, k int, n int)", "CREATE TABLE b (id int PRIMARY KEY, a_id int REFERENCES a (id), pos int, UNIQUE (a_id, pos))",
			"CREATE TABLE c (id int PRIMARY KEY, b_id int REFERENCES b (id))", "CREATE INDEX c_b ON c (b_id)")
		b.fill("a", 600, func(i int) string { return fmt.Sprintf("%d, %d, 1", i, i%300) }) // two batches: the first one is of 250
		b.fill("b", 600, func(i int) string { return fmt.Sprintf("%d, %d, %d", i, i, i%2) })
		b.fill("c", 600, func(i int) string { return fmt.Sprintf("%d, %d", i, i) })
		b.exec(b.by("ANALYZE", "ANALYZE TABLE a, b, c", "ANALYZE"))
		q := request()
		q.Columns = []string{"n=sum"}
		p := b.plan("a", "k", q)
		file, before := b.write(p), b.state()
		stride, killed := claimtest.Times(17, 13, 11), 0
		for at := 1; ; at += stride {
			if !b.killed("run", file, at) {
				break // it ended before that many statements
			}
			killed++
			b.goOn(p)
			if b.state() != before || b.Failed() {
				b.Fatalf("killed at statement %d, or the undo leaves another state", at)
			}
		}
		if killed < 2 {
			b.Errorf("the run was killed %d times", killed)
		}
	})
}

// A user who may not change a child, or does not see one, begins nothing, and reads which table it is.
func TestRightsOnChildren(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		if b.Dialect == dialect.SQLite {
			return // it has no rights
		}
		b.exec("CREATE TABLE a (id int PRIMARY KEY, k varchar(9))", "CREATE TABLE c (id int PRIMARY KEY, a_id int, FOREIGN KEY (a_id) REFERENCES a (id))", "CREATE INDEX c_a ON c (a_id)",
			"INSERT INTO a VALUES (1, 'x'), (2, 'x')", "INSERT INTO c VALUES (1, 2)")
		u, err := dedupe.KeyRule("a", []string{"k"}, false)
		noError(t, err)
		p, before := b.plan("a", "k", request()), b.state()
		for _, one := range []struct{ rights, plan, run string }{
			{"", b.by("permission denied for table c", "/c refers to "+b.full("a")+", and this user has no rights on it", ""), "c"},
			{"SELECT", "", "rows of " + b.full("c") + " cannot be changed"},
			{"SELECT, UPDATE (id)", "", "rows of " + b.full("c") + " cannot be changed"},
		} {
			limited := b.limited(one.rights, "c")
			_, err := limited.Plan(b.Context(), u, request())
			if one.plan == "" {
				noError(b.T, err)
			} else if err == nil || !strings.Contains(err.Error(), one.plan) {
				b.Errorf("a plan with %q on a child: %v", one.rights, err)
			}
			if _, err := limited.Run(b.Context(), p, &dedupe.Options{By: "test"}); err == nil || !strings.Contains(err.Error(), one.run) {
				b.Errorf("a run with %q on a child: %v", one.rights, err)
			}
			if all, err := b.in.Status(b.Context()); err != nil || len(all) > 0 || b.state() != before {
				b.Errorf("a run with %q on a child began: %v, %v", one.rights, all, err)
			}
			b.noFates()
		}
		limited := b.limited("SELECT, UPDATE", "c")
		if _, err := limited.Run(b.Context(), p, &dedupe.Options{By: "test"}); err != nil {
			b.Errorf("a user who may change the child: %v", err)
		}
	})
}

// limited connects as a new user with these rights on table and every right on the other tables.
func (b *bench) limited(rights, table string) *dedupe.Database {
	b.Helper()
	if b.Dialect == dialect.MySQL {
		name := b.text("SELECT database()")
		grants := []string{"PROCESS ON *.*"} // one on the database would show the table
		for _, other := range []string{"a", "semel_dedupe_run", "semel_dedupe_map", "semel_dedupe_audit", "semel_dedupe_fate_0", "semel_dedupe_fate_1"} {
			if other != table {
				grants = append(grants, "CREATE, SELECT, INSERT, UPDATE, DELETE, DROP, INDEX ON "+name+"."+other)
			}
		}
		if rights != "" {
			grants = append(grants, rights+" ON "+name+"."+table)
		}
		user, _ := b.user(grants...)
		return user.in
	}
	role := "semel_limited_" + strings.ToLower(strings.NewReplacer("/", "_").Replace(b.text("SELECT current_database()")))
	if b.text("SELECT count(*) FROM pg_roles WHERE rolname = '"+role+"'") == "0" {
		b.exec("CREATE ROLE "+role, "GRANT ALL ON SCHEMA public TO "+role, "GRANT ALL ON ALL TABLES IN SCHEMA public TO "+role)
		b.Cleanup(func() {
			_, err := b.DB.ExecContext(context.WithoutCancel(b.Context()), "DROP OWNED BY "+role+"; DROP ROLE "+role)
			noError(b.T, err)
		})
	}
	b.exec("REVOKE ALL ON " + table + " FROM " + role)
	if rights != "" {
		b.exec("GRANT " + rights + " ON " + table + " TO " + role)
	}
	dsn, err := url.Parse(b.DSN)
	noError(b.T, err)
	dsn.RawQuery = "options=-c%20role%3D" + role
	return &dedupe.Database{DB: databases.Connect(b.T, "pgx", dsn.String()), Dialect: b.Dialect}
}

// noFates wants no table of a batch to be left.
func (b *bench) noFates() {
	b.Helper()
	if b.Dialect == dialect.MySQL {
		b.want("SELECT count(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = database() AND TABLE_NAME LIKE 'semel_dedupe_fate%'", "0")
	}
}

// A reference that no index finds is refused from 100,000 rows on: each batch would read them all.
func TestMissingIndex(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		rows := b.by("SELECT g, 2 FROM generate_series(1, 150000) AS g", "SELECT seq, 2 FROM seq_1_to_150000", "WITH RECURSIVE s (g) AS (SELECT 1 UNION ALL SELECT g + 1 FROM s WHERE g < 150000) SELECT g, 2 FROM s")
		b.exec("CREATE TABLE a (id int PRIMARY KEY, k varchar(9))", "CREATE TABLE c (id int PRIMARY KEY, a_id int)", "INSERT INTO a VALUES (1, 'x'), (2, 'x')",
			"INSERT INTO c "+rows, b.by("ANALYZE c", "ANALYZE TABLE c", "ANALYZE"))
		q := request()
		q.References = []string{"c.a_id"}
		_, err := b.tryPlan("a", "k", q)
		b.refused(err, "no index begins with a_id of "+b.full("c")+", of which each batch would read all rows, at least 1")
		b.exec("CREATE INDEX c_a ON c (a_id)")
		p := b.plan("a", "k", q)
		if len(p.Notes) > 0 {
			b.Errorf("with an index, the plan notes %v", p.Notes)
		}
		b.exec("DROP INDEX c_a"+b.by("", " ON c", ""), "DELETE FROM c WHERE id > 10", b.by("ANALYZE c", "ANALYZE TABLE c", "ANALYZE"))
		if p = b.plan("a", "k", q); len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "no index begins with a_id of "+b.full("c")) {
			b.Errorf("of a small table, the plan notes %v", p.Notes)
		}
	})
}

// Tables that a killed run left do not stop the next one, whatever they look like, and go away.
func TestLeftoverFates(t *testing.T) {
	t.Parallel()
	b := in(t, dialect.MySQL)
	b.exec("CREATE TABLE a (id int PRIMARY KEY, k varchar(9))", "CREATE TABLE c (id int PRIMARY KEY, a_id int REFERENCES a (id))", "INSERT INTO a VALUES (1, 'x'), (2, 'x')", "INSERT INTO c VALUES (1, 2)",
		"CREATE TABLE semel_dedupe_fate_0 (grp int, other text)", "INSERT INTO semel_dedupe_fate_0 VALUES (1, 'left')", "CREATE TABLE semel_dedupe_fate_1 (id int)")
	p := b.plan("a", "k", request())
	if slices.ContainsFunc(p.Schema, func(line string) bool { return strings.Contains(line, "semel_dedupe") }) {
		t.Errorf("the plan relies on %v", p.Schema)
	}
	run := b.merge(p).Run
	b.want("SELECT a_id FROM c", "1")
	b.noFates()
	b.undo(run)
	b.want("SELECT a_id FROM c", "2")
}
