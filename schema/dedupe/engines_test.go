package dedupe_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/schema/dedupe"
)

// in is a database of one dialect.
func in(t *testing.T, d dialect.Dialect) *bench {
	t.Helper()
	return wrap(t, databases.Open(t, d))
}

// A server of MySQL may take no table without a primary key (sql_require_primary_key, which MariaDB lacks).
func TestTablesHavePrimaryKeys(t *testing.T) {
	t.Parallel()
	b := in(t, dialect.MySQL)
	b.invoices()
	made := 0
	b.in.Before(func(statement string) {
		if !strings.HasPrefix(statement, "CREATE TABLE ") {
			return
		}
		made++
		if !strings.Contains(statement, "PRIMARY KEY") {
			t.Errorf("no primary key: %s", statement)
		}
	})
	p := b.plan("invoice", "tenant;lower(trim(number))", once())
	b.guard(p)
	b.merge(p)
	if made == 0 {
		t.Error("no table was made")
	}
}

// Values of every type come back as they were, keys among them.
func TestValuesOfMariaDB(t *testing.T) {
	t.Parallel()
	b := in(t, dialect.MySQL)
	b.exec("CREATE TABLE v (id binary(4) PRIMARY KEY, k varchar(9), b blob, bits bit(12), f float, d double, n decimal(30,10), dt datetime(6), ts timestamp(6) NULL, t time(6), y year, da date, e enum('a','B'), s set('x','y'), j json, c char(5), "+
		"l varchar(40) CHARACTER SET latin1, u varchar(40) COLLATE utf8mb4_bin, big bigint unsigned, g int AS (n * 2) VIRTUAL) CHARACTER SET utf8mb4",
		"CREATE TABLE w (id int PRIMARY KEY, v_id binary(4) REFERENCES v (id), name varchar(9) COLLATE utf8mb4_general_ci, UNIQUE (name, v_id))")
	for _, row := range []string{
		`x'00FF2741', 'x', x'00FF5C27', b'101', 0.1, 0.1, 12345678901234567890.0123456789, '2026-03-29 01:59:59.123456', '2026-10-25 00:30:00.5', '-838:59:59.5', 1901, '0000-00-00', 'a', 'x,y', '{"b" :  1, "a":2}', 'c', 'é''\\ ', concat('é\\n\n"''', char(1), char(0 USING utf8mb4), ' '), 18446744073709551615`,
		`x'00000000', 'x', '', b'0', -1e-38, -1e308, -0.0000000001, '0000-00-00 00:00:00', '1970-01-01 00:00:01', '00:00:00', 0, '2026-02-28', 'B', '', 'null', '', '', '', 0`,
		`x'20202020', 'x', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL`,
	} {
		b.exec("INSERT INTO v (id, k, b, bits, f, d, n, dt, ts, t, y, da, e, s, j, c, l, u, big) VALUES (" + row + ")")
	}
	b.exec(`INSERT INTO w VALUES (0, x'00000000', 'n'), (1, x'00FF2741', 'N '), (2, x'20202020', 'm')`)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 100 {
		d, f := math.Float64frombits(random.Uint64()), math.Float32frombits(random.Uint32())
		if !math.IsNaN(d) && !math.IsInf(d, 0) && f == f && math.Abs(float64(f)) < 3e38 {
			b.exec(fmt.Sprintf("INSERT INTO v (id, k, d, f) VALUES (unhex('%08x'), 'x', %g, %g)", i+1000, d, f))
		}
	}
	b.reversible(func() {
		q := request()
		q.Winner = "order by u IS NULL, l"
		q.Columns = []string{"u=longest", "d=latest"}
		run := b.merge(b.plan("v", "k", q)).Run
		b.want("SELECT count(*) FROM v", "1")
		b.undo(run)
	})
	run := b.merge(b.plan("v", "k", request())).Run
	b.exec("UPDATE v SET k = 'x '", "UPDATE w SET v_id = NULL WHERE id = 2")
	report, err := b.undoPart(dedupe.Target{Run: run})
	noError(t, err)
	if len(report.Kept) != 1 || !strings.Contains(report.Kept[0].Reason, "v_id was changed since the merge") {
		t.Errorf("the undo keeps %+v", report.Kept)
	}
}

// Any value of any column comes back in its storage class, keys among them.
func TestValuesOfSQLite(t *testing.T) {
	t.Parallel()
	b := in(t, dialect.SQLite)
	b.exec("CREATE TABLE v (id PRIMARY KEY, k, a, t TEXT, r REAL, i INTEGER, n NUMERIC, c TEXT COLLATE NOCASE, g AS (k || 'x') STORED)",
		"CREATE TABLE w (v_id, pos ANY, what TEXT COLLATE NOCASE, PRIMARY KEY (v_id, pos), FOREIGN KEY (v_id) REFERENCES v (id)) WITHOUT ROWID", "CREATE TABLE s (id INTEGER PRIMARY KEY, v_id ANY REFERENCES v, at ANY) STRICT")
	values := []string{"x'00FF27'", "x''", "''", "'it''s'", "'5'", "5", "-9223372036854775808", "1e300", "0.1", "9e999", "-9e999", "'a' || char(0) || 'b'", "char(0)", "'NULL'", "'é\"\\'", "3.0", "cast(x'FF41' AS text)", "'X''41'''"}
	for i, value := range values {
		b.exec(fmt.Sprintf("INSERT INTO v VALUES (%s, 'x', %[1]s, %[1]s, %[1]s, %[1]s, %[1]s, %[1]s)", value), fmt.Sprintf("INSERT INTO w VALUES (%s, %d, %[1]s)", value, i), fmt.Sprintf("INSERT INTO s VALUES (%d, %s, %[2]s)", i, value))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		if d := math.Float64frombits(random.Uint64()); !math.IsNaN(d) {
			b.exec(fmt.Sprintf("INSERT INTO v (id, k, a, r) VALUES ('r%d', 'x', %g, %[2]g)", i, d))
		}
	}
	b.reversible(func() {
		q := request()
		q.Columns = []string{"a=longest", "n=latest", "w.what=latest"}
		q.Winner = "order by typeof(id) DESC"
		run := b.merge(b.plan("v", "k", q)).Run
		b.want("SELECT concat(count(*), '/', (SELECT count(DISTINCT v_id) FROM w)) FROM v", "1/1")
		b.undo(run)
	})
}

// A reference that shares a column with one that moves is not broken: the group is refused.
func TestSharedColumn(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec("CREATE TABLE a (id int PRIMARY KEY, k varchar(9))", "CREATE TABLE seat (a_id int, no int, PRIMARY KEY (a_id, no))",
			"CREATE TABLE c (id int PRIMARY KEY, a_id int REFERENCES a (id), no int, FOREIGN KEY (a_id, no) REFERENCES seat (a_id, no))",
			"INSERT INTO a VALUES (1, 'x'), (2, 'x'), (3, 'y'), (4, 'y'); INSERT INTO seat VALUES (2, 7), (3, 7), (4, 7); INSERT INTO c VALUES (1, 2, 7), (2, 4, 7)")
		b.reversible(func() {
			q := request()
			q.References = []string{"seat.a_id to none"}
			report := b.try(b.plan("a", "k", q))
			if len(report.Refusals) != 1 || report.Refusals[0].Winner != `["1"]` {
				b.Errorf("the refusals are %+v", report.Refusals)
			}
			b.want("SELECT concat(id, '@', a_id) FROM c ORDER BY id", "1@2 2@3")
			b.exec("DELETE FROM seat WHERE a_id = 4")
			undone, err := b.undoPart(dedupe.Target{Run: report.Run})
			noError(b, err)
			if undone.Restored != 0 || len(undone.Kept) != 1 || !strings.Contains(undone.Kept[0].Reason, b.by("constraint c_a_id_no_fkey", "seat", "seat")) {
				b.Errorf("the undo restores %d rows and keeps %+v", undone.Restored, undone.Kept)
			}
			b.exec("INSERT INTO seat VALUES (4, 7)")
			b.undo(report.Run)
		})
	})
}

// As in a foreign key, the type and collation of the parent's key decide which texts are equal.
func TestCollations(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		if b.Dialect == dialect.PostgreSQL {
			b.exec("CREATE SCHEMA far", "CREATE COLLATION far.loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)", "CREATE COLLATION other FROM far.loose", "CREATE EXTENSION citext")
		}
		exact, loose := "varchar(9) COLLATE "+b.by(`"default"`, "utf8mb4_bin", "binary"), "varchar(9) COLLATE "+b.by("far.loose", "utf8mb4_general_ci", "nocase")
		own := b.by("citext", loose, loose)
		for i, c := range []struct {
			parent, child, foreign string
			rows                   int64 // that refer to the loser
			want                   string
		}{
			{loose, loose, " REFERENCES a0 (id)", 2, "1@Ax 3@ay"},
			{loose, loose, "", 2, "1@Ax 3@ay"},
			{own, own, "", 2, "1@Ax 3@ay"},
			{loose, exact, "", 2, "1@Ax 2@aX 3@ay"},
			{own, exact, "", 2, "1@Ax 2@aX 3@ay"},
			{loose, "varchar(9) COLLATE " + b.by("other", "utf8mb4_unicode_ci", "rtrim"), "", 2, b.by("1@Ax 3@ay", "1@Ax 3@ay", "1@Ax 2@aX 3@ay")},
			{exact, loose, "", 1, "1@Ax 2@BX 3@ay"},
			{exact, own, "", 1, "1@Ax 2@BX 3@ay"},
		} {
			parent, child := fmt.Sprint("a", i), fmt.Sprint("c", i)
			b.exec("CREATE TABLE "+parent+" (id "+c.parent+" PRIMARY KEY, k int, merged_into "+c.parent+")", "CREATE TABLE "+child+" (id int PRIMARY KEY, a_id "+c.child+c.foreign+", name "+b.by(exact, loose, exact)+")",
				"CREATE UNIQUE INDEX "+child+"_once ON "+child+" (a_id, "+b.by("name COLLATE far.loose", "name", "name COLLATE nocase")+")", "INSERT INTO "+parent+" VALUES ('a', 1, NULL), ('b', 1, NULL)", "INSERT INTO "+child+" VALUES (1, 'A', 'x'), (2, 'B', 'X'), (3, 'b', 'y')")
			before, q := b.state(), request()
			if c.foreign == "" {
				q.References = []string{child + ".a_id to " + parent}
			}
			p := b.plan(parent, "k", q)
			if p.Children[0].Rows != c.rows {
				b.Errorf("%+v: %d rows refer to the loser", c, p.Children[0].Rows)
			}
			run := b.merge(p).Run
			b.want("SELECT concat(id, '@', a_id, name) FROM "+child+" ORDER BY id", c.want)
			if c.foreign == "" {
				b.exec("INSERT INTO " + child + " VALUES (4, 'B', 'late')")
				if again := b.merge(b.plan(parent, "k", q)); again.Swept != c.rows-1 || len(again.Late) > 0 {
					b.Errorf("%+v: the next run reports %+v", c, again)
				}
				b.undo(run)
				b.want("SELECT a_id FROM "+child+" WHERE id = 4", "B")
				b.exec("DELETE FROM " + child + " WHERE id = 4")
			} else {
				b.undo(run)
			}
			b.restored(before)
			b.exec("INSERT INTO " + child + " VALUES (4, 'A', 'z')")
			q.Losers, q.Winner = "mark", "most-children"
			p = b.plan(parent, "k", q)
			b.guard(p)
			b.merge(p)
			b.exec("INSERT INTO " + child + " SELECT 5, upper(id), 'v' FROM " + parent + " WHERE merged_into IS NOT NULL UNION SELECT 6, id, 'w' FROM " + parent + " WHERE merged_into IS NOT NULL")
			b.want("SELECT a_id FROM "+child+" WHERE id > 4 ORDER BY id", map[int64]string{1: "A b", 2: "a a"}[c.rows])
			_, err := b.in.RemoveGuard(b.Context(), "", "")
			noError(b.T, err)
		}
	})
}

// A disk that fills leaves the database as it was, and the next call goes on.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	b := in(t, dialect.SQLite)
	b.exec("CREATE TABLE a (id INTEGER PRIMARY KEY, k int, text)", "CREATE TABLE c (id INTEGER PRIMARY KEY, a_id int REFERENCES a (id))")
	b.fill("a", 400, func(i int) string { return fmt.Sprintf("%d, %d, hex(zeroblob(500))", i, i%200) })
	b.fill("c", 400, func(i int) string { return fmt.Sprintf("%d, %d", i, i) })
	before, full := b.state(), 0
	p := b.plan("a", "k", request())
	for pages := 1; ; pages *= 2 {
		source := fmt.Sprintf("file:%s?_pragma=max_page_count(%d)&_pragma=synchronous(off)", strings.TrimPrefix(b.DSN, "sqlite:"), b.pages()+pages)
		small := &dedupe.Database{DB: databases.Connect(t, "sqlite", source), Dialect: b.Dialect}
		_, err := small.Run(t.Context(), p, &dedupe.Options{By: "test"})
		noError(t, small.DB.Close())
		if err == nil {
			break
		}
		if full++; !strings.Contains(err.Error(), "full") || b.state() != before {
			t.Fatalf("with %d pages more: %v, and the state is as it was: %t", pages, err, b.state() == before)
		}
	}
	if full < 3 {
		t.Errorf("the disk was full %d times", full)
	}
	b.want("SELECT count(*) FROM a", "200")
	b.undo(b.lastRun())
	b.restored(before)
}

func (b *bench) pages() (n int) {
	b.Helper()
	_, err := fmt.Sscan(b.text("PRAGMA page_count"), &n)
	noError(b.T, err)
	return n
}

// A user of MariaDB who may not write a table, or does not see what refers to it, changes nothing.
func TestRightsOfMariaDB(t *testing.T) {
	t.Parallel()
	b := in(t, dialect.MySQL)
	b.exec("CREATE TABLE a (id int PRIMARY KEY, k varchar(9))", "CREATE TABLE c (id int PRIMARY KEY, a_id int REFERENCES a (id))", "INSERT INTO a VALUES (1, 'x'), (2, 'x'); INSERT INTO c VALUES (1, 2)")
	config, err := mysql.ParseDSN(strings.TrimPrefix(b.DSN, "mysql:"))
	noError(t, err)
	config.User, config.Passwd = config.DBName[max(0, len(config.DBName)-20):]+"_u", ""
	user := "'" + config.User + "'@'%'"
	t.Cleanup(func() {
		_, _ = b.DB.ExecContext(context.WithoutCancel(t.Context()), "DROP USER IF EXISTS "+user)
	})
	b.exec("CREATE USER "+user, "GRANT SELECT, CREATE, DROP, INDEX, REFERENCES ON "+config.DBName+".* TO "+user)
	limited := &dedupe.Database{DB: databases.Connect(t, "mysql", config.FormatDSN()), Dialect: b.Dialect}
	p := b.plan("a", "k", request())
	before := b.state()
	_, err = limited.Run(t.Context(), p, &dedupe.Options{By: "test"})
	b.refused(err, "GRANT PROCESS")
	b.exec("GRANT PROCESS ON *.* TO " + user)
	limited = &dedupe.Database{DB: databases.Connect(t, "mysql", config.FormatDSN()), Dialect: b.Dialect}
	if _, err = limited.Run(t.Context(), p, &dedupe.Options{By: "test"}); err == nil || !strings.Contains(err.Error(), "needs SELECT, INSERT and UPDATE on each of semel_dedupe_run") {
		t.Errorf("a user without rights gets %v", err)
	}
	b.restored(before)
}

// Tables of MariaDB without transactions, and references from other databases, are refused.
func TestRefusalsOfMariaDB(t *testing.T) {
	t.Parallel()
	b, other := in(t, dialect.MySQL), in(t, dialect.MySQL)
	b.exec("CREATE TABLE m (id int PRIMARY KEY, k varchar(9)) ENGINE = MyISAM", "CREATE TABLE `a-b` (id int PRIMARY KEY, k varchar(9))", "INSERT INTO `a-b` VALUES (1, 'x'), (2, 'x')", "CREATE TABLE q (id int PRIMARY KEY, k varchar(9), `x\"y` int)")
	_, err := b.tryPlan("m", "k", request())
	b.refused(err, "MyISAM, which has no transactions")
	_, err = b.tryPlan("q", "k", request())
	b.refused(err, "(rename the column)")
	other.exec("CREATE TABLE c (id int PRIMARY KEY, a_id int, FOREIGN KEY (a_id) REFERENCES " + b.text("SELECT database()") + ".`a-b` (id))")
	_, err = b.tryPlan("a-b", "k", request())
	b.refused(err, "of another database refers to")
	other.exec("DROP TABLE c")
	b.undo(b.merge(b.plan("a-b", "k", request())).Run)
}

// Triggers of the other databases know the run, refuse groups and are noticed where they keep rows as they are.
func TestTriggersElsewhere(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		if b.Dialect == dialect.PostgreSQL {
			return // TestTriggers
		}
		b.exec("CREATE TABLE a (id int PRIMARY KEY, k varchar(9))", "CREATE TABLE c (id int PRIMARY KEY, a_id int REFERENCES a (id), run int)", "CREATE TABLE seen (id int PRIMARY KEY, run int)",
			"INSERT INTO a VALUES (1, 'x'), (2, 'x'), (3, 'y'), (4, 'y'); INSERT INTO c VALUES (2, 2, NULL), (4, 4, NULL)",
			b.by("", "CREATE TRIGGER watch AFTER UPDATE ON c FOR EACH ROW BEGIN IF old.id = 4 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'four'; END IF; INSERT INTO seen VALUES (old.id, @semel_merge_run); END",
				"CREATE TRIGGER watch AFTER UPDATE ON c FOR EACH ROW BEGIN SELECT RAISE(ABORT, 'four') WHERE old.id = 4; INSERT INTO seen SELECT old.id, run FROM semel_dedupe_now; END"),
			b.by("", "CREATE TRIGGER added BEFORE INSERT ON a FOR EACH ROW SET @x = 1", "CREATE TRIGGER added BEFORE INSERT ON a BEGIN SELECT 1; END"))
		q := request()
		_, err := b.tryPlan("a", "k", q)
		if b.Dialect == dialect.SQLite { // without the tables of a run, the trigger cannot be written before
			b.refused(err, "triggers can test (SELECT run FROM semel_dedupe_now)")
		} else {
			b.refused(err, "would meet trigger watch on "+b.full("c")+" (")
		}
		q.Triggers = true
		report := b.try(b.plan("a", "k", q))
		if len(report.Refusals) != 1 || !strings.Contains(report.Refusals[0].Reason, b.by("", "a trigger or routine refuses it (error 1644, SQLSTATE 45000)", "a trigger refuses it")) || report.Merged != 1 {
			b.Errorf("got %+v", report)
		}
		b.want("SELECT concat(id, '/', run) FROM seen", fmt.Sprintf("2/%d", report.Run))
		if b.Dialect == dialect.SQLite {
			b.exec("DROP TRIGGER watch", "CREATE TRIGGER keep BEFORE DELETE ON a BEGIN SELECT RAISE(IGNORE); END")
			if _, err := b.in.Run(b.Context(), b.plan("a", "k", q), &dedupe.Options{By: "test"}); err == nil || !strings.Contains(err.Error(), "a trigger or a rule keeps 1 row of main.a from being changed") {
				b.Errorf("a trigger that keeps rows: %v", err)
			}
		}
	})
}
