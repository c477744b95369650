package dedupe_test

import (
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/dedupe"
	"github.com/semel-dev/semel/schema/verify"
)

func (b *bench) tryFinish(p *dedupe.Plan) (*dedupe.Finished, error) {
	b.Helper()
	return b.in.Finish(b.Context(), p, &dedupe.Options{By: "test"})
}

func (b *bench) finish(p *dedupe.Plan) *dedupe.Finished {
	b.Helper()
	done, err := b.tryFinish(p)
	noError(b.T, err)
	return done
}

func (b *bench) undoWithIndex(run int64) {
	b.Helper()
	report, err := b.undoPart(dedupe.Target{Run: run, DropIndex: true})
	noError(b.T, err)
	if len(report.Kept) > 0 {
		b.Fatalf("the undo keeps %+v", report.Kept)
	}
}

const validIndexes = "SELECT coalesce(string_agg(c.relname || '=' || i.indisvalid, ' ' ORDER BY c.relname), '') FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relname LIKE '%once%' AND c.relname NOT LIKE 'semel%'"

// indexed wants the unique index once to be there, or not.
func (b *bench) indexed(there bool) {
	b.Helper()
	want := map[bool]string{true: "once=true"}[there]
	b.want(b.by(validIndexes, "SELECT coalesce(group_concat(DISTINCT INDEX_NAME, '=true'), '') FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = database() AND INDEX_NAME = 'once' AND NON_UNIQUE = 0",
		"SELECT coalesce(group_concat(name || '=true'), '') FROM sqlite_schema WHERE type = 'index' AND name = 'once'"), want)
}

// The whole story: guard, run, finish, undo.
func TestFinish(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.invoices()
		u := rule(b.T, "fields: [tenant, lower(trim(number))], except: [merged_into is set], nulls: distinct")
		p, err := b.in.Plan(b.Context(), u, marking())
		noError(b.T, err)
		before := b.state()
		b.guard(p)
		_, err = b.tryFinish(p)
		b.refused(err, "invoice has 2 groups of rows that are the same by this rule, such as 1 and 2; 6 and 7 (merge")
		run := b.merge(p).Run
		b.disable()
		b.exec("INSERT INTO line VALUES (200, 2, 9)")
		if done := b.finish(p); !done.Built || !done.Guard || done.Swept != 1 || done.Index != "once" {
			b.Errorf("finished: %+v", done)
		}
		b.indexed(true)
		b.unguarded()
		if b.Dialect == dialect.MySQL {
			b.want("SELECT count(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = database() AND TABLE_NAME LIKE 'semel_dedupe_fate_%'", "0")
		}
		if got := b.code("INSERT INTO invoice (id, tenant, number) VALUES (100, 1, 'a-1')"); got != b.same("once") {
			b.Errorf("a duplicate meets %q", got)
		}
		report, err := verify.Verify(b.Context(), b.DB, b.Dialect, &rules.File{Unique: []rules.Unique{*u}}, nil)
		if err != nil || len(report.Findings) > 0 {
			b.Errorf("verify: %+v, %v", report, err)
		}
		if done := b.finish(p); done.Built || done.Guard || done.Swept != 0 {
			b.Errorf("finished again: %+v", done)
		}
		_, err = b.undoPart(dedupe.Target{Run: run})
		b.refused(err, "semel dedupe finish made the unique index once: let the guard take its place with --drop-index")
		b.undoWithIndex(run)
		b.indexed(false)
		b.refuses("INSERT INTO invoice (id, tenant, number) VALUES (100, 1, 'a-1')")
		b.exec("DELETE FROM line WHERE id = 200")
		b.restored(before)
	})
}

// Nothing is made while a run is open, or under a name that others have, and what is in the way is named.
func TestFinishRefusals(t *testing.T) {
	t.Parallel()
	guarded(t, func(b *bench) {
		b.invoices()
		q := once()
		p := b.plan("invoice", "tenant;lower(trim(number))", q)
		b.guard(p)
		try := func(want string) {
			b.Helper()
			_, err := b.tryFinish(p)
			b.refused(err, want)
		}
		_, err := b.in.Run(b.Context(), p, &dedupe.Options{By: "test", Limit: 1})
		noError(b.T, err)
		try("run 1 of " + b.full("invoice") + " has 1 loser left (go on with semel dedupe run)")
		b.merge(p)
		drop := "DROP INDEX once" + b.by("", " ON invoice", "")
		if b.Dialect == dialect.PostgreSQL {
			b.exec("CREATE TABLE once (id int)")
			try("the name once of the unique index to come is taken by a table or view (plan again with --index, or drop it)")
			b.exec("DROP TABLE once", "CREATE INDEX once ON line (pos)")
			try("is taken by an index of line")
			b.exec("DROP INDEX once", "CREATE UNIQUE INDEX once ON invoice (note)", "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'once'::regclass")
			try("which is not valid, and was not made by semel dedupe")
			b.exec(drop)
		}
		b.exec("CREATE INDEX once ON invoice (note)")
		try(b.full("invoice") + " has an index once already, which enforces something else")
		b.exec(drop)
		b.want("SELECT count(*) FROM semel_dedupe_index", "0")
		b.exec("ALTER TABLE line ADD other int")
		try("new: column " + b.full("line") + ".other")
		b.exec("DROP TABLE line", "DROP TABLE invoice")
		try("no table " + b.full("invoice"))
	})
}

// A duplicate that comes in while the index is built is named, and no broken index is left.
func TestFinishMeetsNewDuplicates(t *testing.T) {
	t.Parallel()
	guarded(t, func(b *bench) {
		b.invoices()
		q := once()
		p := b.plan("invoice", "tenant;lower(trim(number))", q)
		b.merge(p)
		b.in.Before(func(statement string) {
			if strings.HasPrefix(statement, "CREATE UNIQUE INDEX CONCURRENTLY") || strings.Contains(statement, "ADD UNIQUE INDEX") {
				b.exec("INSERT INTO invoice (id, tenant, number) SELECT max(id) + 1, 1, 'B-1' FROM invoice")
			}
		})
		_, err := b.tryFinish(p)
		b.refused(err, "1 group of rows that are the same by this rule, such as 3 and 8")
		b.indexed(false)
		b.in.Before(nil)
		b.merge(b.plan("invoice", "tenant;lower(trim(number))", q))
		if done := b.finish(p); !done.Built {
			b.Errorf("finished: %+v", done)
		}
		b.indexed(true)
	})
}

// A partitioned table gets the index leaf by leaf; where it cannot be unique, the guard stays.
func TestFinishPartitions(t *testing.T) {
	t.Parallel()
	b := setup(t, "CREATE TABLE invoice (id int, number text, at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at)",
		"CREATE TABLE invoice_1 PARTITION OF invoice FOR VALUES FROM ('2025-01-01') TO ('2026-01-01')", "CREATE TABLE invoice_2 PARTITION OF invoice FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')",
		"INSERT INTO invoice VALUES (1, 'a', '2025-02-01'), (2, 'a', '2025-02-01'), (3, 'b', '2025-03-01')")
	before := b.state()
	q := request()
	q.Index = "once"
	p := b.plan("invoice", "number;at", q)
	b.guard(p)
	run := b.merge(p).Run
	if done := b.finish(p); !done.Built || !done.Guard {
		t.Errorf("finished: %+v", done)
	}
	b.want(validIndexes, "invoice_1_once=true invoice_2_once=true once=true")
	b.unguarded()
	b.undoWithIndex(run)
	b.want(validIndexes, "")
	b.restored(before)
	_, err := b.in.RemoveGuard(t.Context(), "", "")
	noError(t, err)
	p = b.plan("invoice", "number", q)
	b.guard(p)
	b.merge(p)
	_, err = b.tryFinish(p)
	b.refused(err, "is partitioned by at, which is not a field of the rule")
	if got := b.code("INSERT INTO invoice VALUES (10, 'b', '2026-03-01')"); got != "23505 once" {
		t.Errorf("a duplicate meets %q", got)
	}
}

// A rule may name a generated column.
func TestFinishOfGeneratedColumn(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec("CREATE TABLE a (id int PRIMARY KEY, written varchar(9), k varchar(9) GENERATED ALWAYS AS (lower(trim(written))) "+b.by("STORED", "VIRTUAL", "VIRTUAL")+")", "INSERT INTO a (id, written) VALUES (1, 'x'), (2, 'X '), (3, 'y')")
		q := request()
		q.Index = "once"
		p := b.plan("a", "k", q)
		b.merge(p)
		if done := b.finish(p); !done.Built {
			b.Errorf("finished: %+v", done)
		}
		if _, err := b.DB.ExecContext(b.Context(), "INSERT INTO a (id, written) VALUES (9, ' Y')"); err == nil {
			b.Error("a duplicate is not refused")
		}
	})
}

// A finish and an undo of it that were killed anywhere are completed by the next call, and no duplicate gets in.
func TestKilledFinish(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.invoices()
		q := once()
		p := b.plan("invoice", "tenant;lower(trim(number))", q)
		file := b.write(p)
		before := b.state()
		stride := b.stride(9, 6, 3)
		finishing, undoing := 0, 0
		for at, more := 2, true; more; at += stride {
			b.guard(p)
			run := b.merge(p).Run
			refused := func(when string) {
				b.Helper()
				if got := b.code("INSERT INTO invoice (id, tenant, number) VALUES (100, 1, 'b-1')"); got != b.same("once") {
					b.Errorf("%s killed at statement %d, a duplicate meets %q", when, at, got)
				}
			}
			if more = b.killed("finish", file, at); more {
				finishing++
				refused("finish")
			}
			b.finish(p)
			b.indexed(true)
			b.unguarded()
			if b.killed("undo", file, at) {
				undoing++
				refused("undo")
				if b.text("SELECT count(*) FROM semel_dedupe_run WHERE undone_at IS NULL") == "1" {
					b.undoWithIndex(run)
				}
			}
			refused("undone")
			if b.state() != before {
				b.Fatalf("killed at statement %d, the undo leaves another state", at)
			}
		}
		if finishing < 3 || undoing < 3 {
			b.Errorf("%d calls of finish and %d of undo were killed", finishing, undoing)
		}
	})
}
