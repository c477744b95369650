package dedupe_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/dedupe"
)

// try runs a plan that may refuse groups.
func (b *bench) try(p *dedupe.Plan) *dedupe.Report {
	b.Helper()
	report, err := b.in.Run(b.Context(), p, &dedupe.Options{By: "test"})
	noError(b.T, err)
	return report
}

// A group whose merge closes a circle of parents with another group is refused, or the circle is cut.
func TestCircleOfGroups(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec("CREATE TABLE o (id int PRIMARY KEY, k varchar(9), parent int REFERENCES o (id))",
			"INSERT INTO o VALUES (1, 'A', NULL), (2, 'A', NULL), (3, 'B', NULL), (4, 'B', NULL), (5, 'C', NULL), (6, 'C', NULL); UPDATE o SET parent = 4 WHERE id = 1; UPDATE o SET parent = 2 WHERE id = 3")
		b.reversible(func() {
			q := request()
			report := b.try(b.plan("o", "k", q))
			if len(report.Refusals) != 1 || !strings.Contains(report.Refusals[0].Reason, `parent of the row ["3"] of `+b.full("o")+` would close a circle`) {
				b.Errorf("the refusals are %+v", report.Refusals)
			}
			b.want("SELECT concat(id, '>', coalesce(parent, 0)) FROM o ORDER BY id", "1>4 3>1 4>0 5>0")
			b.undo(report.Run)
			q.Cycles = "break"
			run := b.merge(b.plan("o", "k", q)).Run
			b.want("SELECT concat(id, '>', coalesce(parent, 0)) FROM o ORDER BY id", "1>3 3>0 5>0")
			b.undo(run)
		})
	})
}

// Children that become the same merge, and their children, and theirs.
func TestCollisionsOfAnyDepth(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec(
			"CREATE TABLE a (id int PRIMARY KEY, k varchar(9))",
			"CREATE TABLE b (id int PRIMARY KEY, a_id int REFERENCES a (id), pos int, UNIQUE (a_id, pos))",
			"CREATE TABLE cc (id int PRIMARY KEY, b_id int REFERENCES b (id), lang varchar(9), UNIQUE (b_id, lang))",
			"CREATE TABLE d (id int PRIMARY KEY, c_id int REFERENCES cc (id), amt int)",
			"INSERT INTO a VALUES (1, 'x'), (2, 'x'), (3, 'x'); INSERT INTO b VALUES (10, 1, 1), (11, 2, 1), (12, 2, 2), (13, 3, 2)",
			"INSERT INTO cc VALUES (20, 10, 'en'), (21, 11, 'en'), (22, 11, 'sv'), (23, 12, 'en'), (24, 13, 'en'), (25, 13, 'hi')",
			"INSERT INTO d VALUES (30, 20, 1), (31, 21, 2), (32, 22, 4), (33, 23, 8), (34, 24, 16), (35, 25, 32)",
		)
		b.merges("a", "k",
			"SELECT concat(c_id, '=', sum(amt)) FROM d GROUP BY c_id ORDER BY c_id", "20=3 22=4 23=24 25=32",
			"SELECT concat(id, '@', b_id) FROM cc ORDER BY id", "20@10 22@10 23@12 25@12",
		)
	})
}

// Folders of the same name in merged folders merge, as deep as the rows go.
func TestCollisionsInOneTable(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec("CREATE TABLE folder (id int PRIMARY KEY, parent int REFERENCES folder (id), name varchar(9), top varchar(9), UNIQUE (parent, name))",
			"INSERT INTO folder VALUES (1, NULL, 'r', 'x'), (2, NULL, 'r', 'x'), (3, 1, 'a', NULL), (4, 2, 'a', NULL), (5, 3, 'b', NULL), (6, 4, 'b', NULL), (7, 6, 'c', NULL), (8, 5, 'd', NULL)")
		b.merges("folder", "top",
			"SELECT concat(id, '@', coalesce(parent, 0)) FROM folder ORDER BY id", "1@0 3@1 5@3 7@5 8@5",
		)
	})
}

// References of two columns move together, and tables that refer to each other both move.
func TestCompositesAndCircles(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec(
			"CREATE TABLE inv (tenant int, no varchar(9), norm varchar(9), PRIMARY KEY (tenant, no))",
			"CREATE TABLE pay (id int PRIMARY KEY, tenant int, no varchar(9), FOREIGN KEY (tenant, no) REFERENCES inv (tenant, no))",
			"ALTER TABLE inv ADD main int REFERENCES pay (id)",
			"INSERT INTO inv VALUES (1, 'A-1', 'a1', NULL), (1, 'z 1', 'a1', NULL), (2, 'A-1', 'a1', NULL); INSERT INTO pay VALUES (1, 1, 'z 1'), (2, 1, 'A-1'), (3, 2, 'A-1')",
			"UPDATE inv SET main = 1 WHERE no = 'A-1' AND tenant = 1",
		)
		b.merges("inv", "tenant;norm",
			"SELECT concat(tenant, no, coalesce(main, 0)) FROM inv ORDER BY 1", "1A-11 2A-10",
			"SELECT DISTINCT concat(tenant, '/', no) FROM pay ORDER BY 1", "1/A-1 2/A-1",
		)
	})
}

// Tables that refer to each other, where rows of the second collide: what refers to those moves.
func TestCircleOfTables(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec(
			"CREATE TABLE a (id int PRIMARY KEY, k varchar(9))",
			"CREATE TABLE b (id int PRIMARY KEY, a_id int REFERENCES a (id), pos int, UNIQUE (a_id, pos))", "ALTER TABLE a ADD main int REFERENCES b (id)",
			"INSERT INTO a VALUES (1, 'x', NULL), (2, 'x', NULL), (3, 'y', NULL); INSERT INTO b VALUES (10, 1, 1), (11, 2, 1); UPDATE a SET main = 11 WHERE id = 3",
		)
		b.merges("a", "k",
			"SELECT concat(id, '>', coalesce(main, 0)) FROM a ORDER BY id", "1>0 3>10",
		)
	})
}

// A declared reference moves under its condition; rows that others may name are not deleted.
func TestDeclaredReferences(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec("CREATE TABLE a (id int PRIMARY KEY, k varchar(9))", "CREATE TABLE att (id int PRIMARY KEY, owner_type varchar(9), owner_id int)",
			"CREATE TABLE report (id int PRIMARY KEY, a_ids "+b.by("int[]", "json", "text")+")",
			"INSERT INTO a VALUES (1, 'x'), (2, 'x'); INSERT INTO att VALUES (1, 'a', 2), (2, 'b', 2)")
		q := request()
		_, err := b.tryPlan("a", "k", q)
		b.refused(err, "rows of "+b.full("a")+" would be deleted or get another key, and these columns may name them without a foreign key: att.owner_id, report.a_ids (")
		q.References = []string{"att.owner_id where owner_type = 'a'", "att.owner_id where owner_type = 'c'", "report.a_ids to none"}
		p := b.plan("a", "k", q)
		if len(p.Suspects) != 0 || p.Children[0].Rows != 1 || len(p.Children) != 2 {
			b.Errorf("with the reference declared: %v, %+v", p.Suspects, p.Children)
		}
		run := b.merge(p).Run
		b.want("SELECT concat(owner_type, owner_id) FROM att ORDER BY id", "a1 b2")
		b.undo(run)
		b.want("SELECT concat(owner_type, owner_id) FROM att ORDER BY id", "a2 b2")
	})
}

// A profile that only one may have merges, and the one that stays takes over what it lacks.
func TestOneToOne(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec(
			"CREATE TABLE a (id int PRIMARY KEY, k varchar(9), phone varchar(9), points int, note varchar(20), seen int, vip int)",
			"CREATE TABLE prof (id int PRIMARY KEY, a_id int UNIQUE REFERENCES a (id), bio varchar(9))",
			"INSERT INTO a VALUES (1, 'x', NULL, 1, 'short', 7, 0), (2, 'x', '123', 2, 'much longer', 8, 1), (3, 'x', '456', 4, NULL, 9, NULL); INSERT INTO prof VALUES (5, 2, NULL), (6, 3, 'three')",
		)
		b.reversible(func() {
			q := request()
			q.Columns = []string{"phone=fill", "points=sum", "note=longest", "seen=latest", "vip=sql:max(vip)", "prof.bio=fill"}
			q.Yields = []string{"prof=winner"}
			run := b.merge(b.plan("a", "k", q)).Run
			b.want("SELECT concat_ws('/', id, phone, points, note, seen, vip) FROM a", "1/123/7/much longer/9/1")
			b.want("SELECT concat_ws('/', id, a_id, bio) FROM prof", "5/1/three")
			b.undo(run)
		})
	})
}

// Rows with NULL in the key are duplicates only where the rule says so.
func TestNullKeys(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec("CREATE TABLE nn (id int PRIMARY KEY, k varchar(9))", "INSERT INTO nn VALUES (1, NULL), (2, NULL)")
		if p := b.plan("nn", "k", request()); p.Losers != 0 {
			b.Errorf("NULL made %d losers", p.Losers)
		}
		u, err := dedupe.KeyRule("nn", []string{"k"}, false)
		noError(b, err)
		u.Nulls = rules.NullsSame
		p, err := b.in.Plan(b.Context(), u, request())
		noError(b, err)
		b.merge(p)
		b.want("SELECT id FROM nn", "1")
	})
}

// Values of an extension are the same where its index says so, even if the search path does not lead to its operators. What a guard
// looks for, and what refers to another row, is not found then.
func TestTypesOfExtensions(t *testing.T) {
	t.Parallel()
	b := setup(t, "CREATE SCHEMA ext; CREATE EXTENSION ltree SCHEMA ext; CREATE EXTENSION citext SCHEMA ext; CREATE TABLE x (id int PRIMARY KEY, path ext.ltree, mail ext.citext)",
		"INSERT INTO x VALUES (1, 'a.b', 'ada'), (2, 'a.b', 'ADA'), (3, 'a', 'Ada')")
	mails, err := dedupe.KeyRule("x", []string{"mail"}, false)
	noError(t, err)
	mails.Fields[0].Raw, mails.Fields[0].Columns = map[dialect.Dialect]string{dialect.PostgreSQL: "mail"}, []string{"mail"}
	p, err := b.in.Plan(t.Context(), mails, request())
	noError(t, err)
	if p.Losers != 2 {
		t.Errorf("%d losers, want both other spellings", p.Losers)
	}
	b.merge(b.plan("x", "path", request()))
	b.want("SELECT id FROM x ORDER BY id", "1 3")
	_, err = b.in.InstallGuard(t.Context(), p, &dedupe.Options{By: "test"})
	b.refused(err, "ext.=(ext.citext,ext.citext), which the search path does not lead to")
	b.exec("CREATE DOMAIN mail AS ext.citext; CREATE TABLE a (id mail PRIMARY KEY, k int); CREATE TABLE c (id int PRIMARY KEY, of mail); INSERT INTO a VALUES ('a', 1), ('b', 1); INSERT INTO c VALUES (1, 'B')")
	q := request()
	q.References = []string{"c.of to a"}
	_, err = b.tryPlan("a", "k", q)
	b.refused(err, "rows of public.a are compared by ext.=(ext.citext,ext.citext)")
}

// Triggers are named, and fire only where they are allowed. One that raises refuses its group, one that keeps rows from
// their change ends the run.
func TestTriggers(t *testing.T) {
	t.Parallel()
	b := setup(t,
		"CREATE TABLE a (id int PRIMARY KEY, k text)", "CREATE TABLE b (id int PRIMARY KEY, a_id int REFERENCES a (id), run text)",
		"INSERT INTO a SELECT g, 'k' || (g % 10) FROM generate_series(1, 20) g; INSERT INTO b SELECT g, g FROM generate_series(1, 20) g",
		"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF old.id = 13 THEN RAISE 'thirteen'; END IF; new.run := current_setting('semel.merge_run', true); RETURN new; END $$",
		"CREATE TRIGGER watch BEFORE UPDATE ON b FOR EACH ROW EXECUTE FUNCTION f()",
	)
	q := request()
	if _, err := b.tryPlan("a", "k", q); err == nil || !strings.Contains(err.Error(), "trigger watch on public.b") {
		t.Errorf("the plan says %v", err)
	}
	q.Triggers = true
	report := b.try(b.plan("a", "k", q))
	if len(report.Refusals) != 1 || !strings.Contains(report.Refusals[0].Reason, "a function or trigger refuses it (SQLSTATE P0001, function f)") || report.Merged != 9 {
		t.Errorf("got %+v", report)
	}
	b.want("SELECT a_id || run FROM b WHERE id IN (11, 13) OR id = 20 ORDER BY id", "11 NULL 101")
	b.exec("CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$", "CREATE TRIGGER keep BEFORE DELETE ON a FOR EACH ROW EXECUTE FUNCTION keep()", "DROP TRIGGER watch ON b")
	if _, err := b.in.Run(t.Context(), b.plan("a", "k", q), &dedupe.Options{By: "test"}); err == nil || !strings.Contains(err.Error(), "a trigger or a rule keeps 1 row of public.a from being changed") {
		t.Errorf("a trigger that keeps rows: %v", err)
	}
}

// Columns that the server computes are neither written nor restored.
func TestGeneratedColumns(t *testing.T) {
	t.Parallel()
	b := setup(t, "CREATE TABLE g (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, k text, n int, twice int GENERATED ALWAYS AS (n * 2) STORED, at timestamptz, price float8, raw bytea, list text[], doc json)",
		"INSERT INTO g (k, n, at, price, raw, list, doc) VALUES ('x', 1, '2026-03-29 01:59:59.123456+02', 0.1, '\\x00ff', '{a,\"b c\",NULL}', '{\"b\" :  1, \"a\":2}'), ('x', 2, 'infinity', 'NaN', NULL, NULL, NULL), ('x', 3, '-infinity', 1e-300, '', '{}', 'null')")
	b.merges("g", "k", "SELECT id || '/' || twice FROM g", "1/2")
}

// A user who cannot see all rows merges none.
func TestRowLevelSecurity(t *testing.T) {
	t.Parallel()
	b := setup(t, "CREATE TABLE r (id int PRIMARY KEY, tenant int, k text)", "INSERT INTO r VALUES (1, 1, 'x'), (2, 2, 'x'), (3, 1, 'x')",
		"ALTER TABLE r ENABLE ROW LEVEL SECURITY", "CREATE POLICY p ON r USING (tenant = 1)")
	role := "semel_dedupe_" + strings.ToLower(strings.NewReplacer("/", "_").Replace(b.text("SELECT current_database()")))
	b.exec("CREATE ROLE "+role, "GRANT ALL ON SCHEMA public TO "+role, "GRANT ALL ON r TO "+role)
	t.Cleanup(func() {
		_, err := b.DB.ExecContext(context.WithoutCancel(t.Context()), "DROP OWNED BY "+role+"; DROP ROLE "+role)
		noError(t, err)
	})
	dsn, err := url.Parse(b.DSN)
	noError(t, err)
	dsn.RawQuery = "options=-c%20role%3D" + role
	seen := &dedupe.Database{DB: databases.Connect(t, "pgx", dsn.String()), Dialect: b.Dialect}
	u, err := dedupe.KeyRule("r", []string{"k"}, false)
	noError(t, err)
	q := request()
	q.Triggers = true
	if _, err := seen.Plan(t.Context(), u, q); err == nil || !strings.Contains(err.Error(), "row-level security") {
		t.Errorf("the plan of a user who sees a part of the rows says %v", err)
	}
	p := b.plan("r", "k", q)
	if _, err := seen.Run(t.Context(), p, &dedupe.Options{By: "test"}); err == nil || !strings.Contains(err.Error(), "row-level security") {
		t.Errorf("the run says %v", err)
	}
	b.want("SELECT count(*)::text FROM r", "3")
}

// Duplicates in two partitions merge.
func TestPartitions(t *testing.T) {
	t.Parallel()
	b := setup(t, "CREATE TABLE pt (id int, d date, k text, PRIMARY KEY (id, d)) PARTITION BY RANGE (d)",
		"CREATE TABLE pt1 PARTITION OF pt FOR VALUES FROM ('2026-01-01') TO ('2026-07-01')", "CREATE TABLE pt2 PARTITION OF pt FOR VALUES FROM ('2026-07-01') TO ('2027-01-01')",
		"CREATE TABLE c (id int PRIMARY KEY, p int, d date, FOREIGN KEY (p, d) REFERENCES pt (id, d))",
		"INSERT INTO pt VALUES (1, '2026-02-01', 'x'), (2, '2026-08-01', 'x'); INSERT INTO c VALUES (1, 2, '2026-08-01')")
	if got := fmt.Sprint(b.plan("pt", "k", request()).Notes); !strings.Contains(got, "public.pt is partitioned") {
		t.Errorf("the notes are %s", got)
	}
	b.merges("pt", "k", "SELECT p || ' ' || d FROM c", "1 2026-02-01")
}
