package dedupe_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/schema/dedupe"
)

// bench is a database with what a test does in it.
type bench struct {
	*testing.T
	*databases.Database

	in *dedupe.Database
}

// setup makes a PostgreSQL database of these statements.
func setup(t *testing.T, statements ...string) *bench {
	t.Helper()
	b := wrap(t, databases.Open(t, dialect.PostgreSQL))
	b.exec(statements...)
	return b
}

func wrap(t *testing.T, d *databases.Database) *bench {
	t.Helper()
	return &bench{t, d, &dedupe.Database{DB: d.DB, Dialect: d.Dialect}}
}

// everywhere runs a test in a database of every dialect.
func everywhere(t *testing.T, test func(b *bench)) {
	t.Helper()
	databases.Each(t, func(t *testing.T, d *databases.Database) { test(wrap(t, d)) })
}

// full is the name of a table in plans and reports.
func (b *bench) full(table string) string {
	switch b.Dialect {
	case dialect.MySQL:
		return b.text("SELECT database()") + "." + table
	case dialect.SQLite:
		return "main." + table
	case dialect.PostgreSQL:
	}
	return "public." + table
}

// snapshotIsolation reports whether MariaDB has innodb_snapshot_isolation on by default, as from 11.6.2.
func (b *bench) snapshotIsolation() bool {
	var on bool
	err := b.DB.QueryRowContext(b.Context(), "SELECT @@innodb_snapshot_isolation").Scan(&on)
	return err == nil && on // MySQL and older versions do not know the variable
}

// by chooses by the dialect.
func (b *bench) by(postgres, mysql, sqlite string) string {
	switch b.Dialect {
	case dialect.MySQL:
		return mysql
	case dialect.SQLite:
		return sqlite
	case dialect.PostgreSQL:
	}
	return postgres
}

// fill inserts rows 1 to n of these values.
func (b *bench) fill(table string, n int, values func(i int) string) {
	b.Helper()
	var rows []string
	for i := range n {
		rows = append(rows, "("+values(i+1)+")")
	}
	b.exec("INSERT INTO " + table + " VALUES " + strings.Join(rows, ", "))
}

// reversible runs a test that undoes what it does, and compares the states.
func (b *bench) reversible(work func()) {
	b.Helper()
	before := b.state()
	work()
	b.restored(before)
}

// request is a request with the defaults of the command line.
func request() dedupe.Request {
	return dedupe.Request{Winner: "oldest", Losers: "delete", Cycles: "refuse"}
}

func (b *bench) exec(statements ...string) {
	b.Helper()
	for _, statement := range statements {
		if b.Dialect == dialect.MySQL && !strings.Contains(statement, "BEGIN") {
			b.Exec(b.T, strings.Split(statement, "; ")...)
		} else {
			b.Exec(b.T, statement)
		}
	}
}

// tryPlan plans for the rows of a table with the same terms.
func (b *bench) tryPlan(table, terms string, q dedupe.Request) (*dedupe.Plan, error) {
	b.Helper()
	u, err := dedupe.KeyRule(table, strings.Split(terms, ";"), q.Losers == "mark")
	noError(b.T, err)
	return b.in.Plan(b.Context(), u, q)
}

func (b *bench) plan(table, terms string, q dedupe.Request) *dedupe.Plan {
	b.Helper()
	p, err := b.tryPlan(table, terms, q)
	noError(b.T, err)
	return p
}

// merge runs a plan, of which no group is refused.
func (b *bench) merge(p *dedupe.Plan) *dedupe.Report {
	b.Helper()
	report, err := b.in.Run(b.Context(), p, &dedupe.Options{By: "test"})
	noError(b.T, err)
	if len(report.Refusals) > 0 || report.Open > 0 {
		b.Fatalf("the run refuses %v and leaves %d open", report.Refusals, report.Open)
	}
	return report
}

// merges merges the rows of a table that have the same terms, wants the results of queries, and takes the run back.
func (b *bench) merges(table, terms string, queriesAndResults ...string) {
	b.Helper()
	b.reversible(func() {
		run := b.merge(b.plan(table, terms, request())).Run
		for pair := range slices.Chunk(queriesAndResults, 2) {
			b.want(pair[0], pair[1])
		}
		b.undo(run)
	})
}

// restored wants the state of before.
func (b *bench) restored(before string) {
	b.Helper()
	if b.state() != before {
		b.Error("the state differs from the one before")
	}
}

// once is a request that marks losers, and names the unique index to come.
func once() dedupe.Request {
	q := marking()
	q.Index = "once"
	return q
}

// undo takes a run back; every row is restored.
func (b *bench) undo(run int64) {
	b.Helper()
	report, err := b.in.Undo(b.Context(), dedupe.Target{Run: run}, &dedupe.Options{By: "test"})
	noError(b.T, err)
	if len(report.Kept) > 0 {
		b.Fatalf("the undo keeps %+v", report.Kept)
	}
}

// text is the result of a query with one column, row by row.
func (b *bench) text(query string) string {
	b.Helper()
	rows, err := b.DB.QueryContext(b.Context(), query)
	noError(b.T, err)
	defer rows.Close()
	var all []string
	for rows.Next() {
		var one *string
		noError(b.T, rows.Scan(&one))
		if one == nil {
			all = append(all, "NULL")
		} else {
			all = append(all, *one)
		}
	}
	noError(b.T, rows.Err())
	return strings.Join(all, " ")
}

func (b *bench) want(query, want string) {
	b.Helper()
	if got := b.text(query); got != want {
		b.Errorf("%s: got %s, want %s", query, got, want)
	}
}

// state is a digest of all rows of the application's tables, exact to the byte.
func (b *bench) state() string {
	b.Helper()
	tables := b.by("SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"+
		" WHERE c.relkind = 'r' AND c.relpersistence <> 't' AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND c.relname NOT LIKE 'semel_dedupe%' ORDER BY 1",
		"SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = database() AND TABLE_NAME NOT LIKE 'semel_dedupe%' ORDER BY 1",
		"SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'semel_dedupe%' AND name NOT LIKE 'sqlite_%' ORDER BY 1")
	digest := sha256.New()
	for table := range strings.FieldsSeq(b.text(tables)) {
		rows := "coalesce(string_agg(t::text, '|' ORDER BY t::text), '')"
		if b.Dialect != dialect.PostgreSQL {
			columns := strings.Fields(b.text(b.by("", "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = database() AND TABLE_NAME = '"+table+"' ORDER BY 1", "SELECT name FROM pragma_table_xinfo('"+table+"') ORDER BY 1")))
			exact := strings.Join(each(columns, func(c string) string {
				return b.by("", "coalesce(hex(cast(CASE WHEN "+c+" * 1e0 = 0 THEN "+c+" ELSE concat("+c+", ':', "+c+" * 1e0) END AS binary)), '-')", "typeof("+c+"), hex("+c+"), quote("+c+")")
			}), ", '/', ")
			rows = "concat(" + exact + ", '') FROM " + table + " AS t ORDER BY 1"
			digest.Write([]byte(table + b.text("SELECT "+rows)))
			continue
		}
		digest.Write([]byte(table + b.text("SELECT "+rows+" FROM "+table+" AS t")))
	}
	return hex.EncodeToString(digest.Sum(nil))
}

// connect opens the database of another process's test.
func connect(t *testing.T, name, dsn string) *dedupe.Database {
	t.Helper()
	d, err := dialect.Parse(name)
	noError(t, err)
	switch d {
	case dialect.MySQL:
		return &dedupe.Database{DB: databases.Connect(t, "mysql", strings.TrimPrefix(dsn, "mysql:")), Dialect: d}
	case dialect.SQLite:
		return &dedupe.Database{DB: databases.Connect(t, "sqlite", "file:"+strings.TrimPrefix(dsn, "sqlite:")+"?_pragma=busy_timeout(30000)&_pragma=synchronous(off)"), Dialect: d}
	case dialect.PostgreSQL:
	}
	return &dedupe.Database{DB: databases.Connect(t, "pgx", dsn), Dialect: d}
}

// write writes a plan to a file.
func (b *bench) write(p *dedupe.Plan) string {
	b.Helper()
	text, err := json.Marshal(p)
	noError(b.T, err)
	name := filepath.Join(b.TempDir(), "plan.json")
	noError(b.T, os.WriteFile(name, text, 0o600))
	return name
}

// free waits until the server has noticed that a process is gone.
func (b *bench) free() {
	b.Helper()
	switch b.Dialect {
	case dialect.PostgreSQL:
		b.exec("SELECT pg_advisory_lock(hashtextextended('semel dedupe', 0)), pg_advisory_unlock(hashtextextended('semel dedupe', 0))")
	case dialect.MySQL:
		b.text("SELECT get_lock(concat('semel dedupe ', md5(database())), 60) + release_lock(concat('semel dedupe ', md5(database())))")
	case dialect.SQLite: // the lock was the process's
	}
}

// lastRun is the last run that was not undone.
func (b *bench) lastRun() int64 {
	b.Helper()
	n, err := strconv.ParseInt(b.text("SELECT max(id) FROM semel_dedupe_run WHERE undone_at IS NULL"), 10, 64)
	noError(b.T, err)
	return n
}
