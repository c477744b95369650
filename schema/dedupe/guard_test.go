package dedupe_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/dedupe"
)

// guarded runs a test in the databases with more than one writer.
func guarded(t *testing.T, test func(b *bench)) {
	t.Helper()
	everywhere(t, func(b *bench) {
		if b.Dialect != dialect.SQLite {
			test(b)
		}
	})
}

// invoices is a PostgreSQL database with duplicates.
func invoices(t *testing.T) *bench {
	t.Helper()
	b := setup(t)
	b.invoices()
	return b
}

// invoices makes tables with duplicates, and a generated column.
func (b *bench) invoices() {
	b.Helper()
	b.exec("CREATE TABLE invoice (id int PRIMARY KEY, tenant int, number varchar(20)"+b.by("", " COLLATE utf8mb4_bin", "")+", year int, norm varchar(20) GENERATED ALWAYS AS (lower(trim(number))) STORED,"+
		" note varchar(20), merged_into int, merged_at "+b.by("timestamptz", "datetime(6)", "text")+", merge_run bigint)",
		"CREATE TABLE line (id int PRIMARY KEY, invoice_id int NOT NULL, pos int, FOREIGN KEY (invoice_id) REFERENCES invoice (id))", "CREATE INDEX line_invoice ON line (invoice_id)",
		"INSERT INTO invoice (id, tenant, number) VALUES (1, 1, 'A-1'), (2, 1, ' a-1'), (3, 1, 'B-1'), (4, 2, 'A-1'), (5, 1, NULL), (6, 1, 'C-1'), (7, 1, 'C-1 ')",
		"INSERT INTO line VALUES (10, 1, 1), (20, 2, 1), (60, 6, 1), (70, 7, 2)")
}

func marking() dedupe.Request {
	q := request()
	q.Losers = "mark"
	return q
}

func (b *bench) guard(p *dedupe.Plan) *dedupe.Guard {
	b.Helper()
	guard, err := b.in.InstallGuard(b.Context(), p, &dedupe.Options{By: "test"})
	noError(b.T, err)
	if guard.State != "installed" {
		b.Fatalf("the guard is %s", guard.State)
	}
	return guard
}

// code is the SQLSTATE of a statement, and the constraint that it names; "" when it succeeds.
func (b *bench) code(statements ...string) string {
	b.Helper()
	tx, err := b.DB.BeginTx(b.Context(), nil)
	noError(b.T, err)
	defer tx.Rollback()
	for _, statement := range statements {
		if _, err = tx.ExecContext(b.Context(), statement); err != nil {
			break
		}
	}
	if err == nil {
		err = tx.Commit()
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return strings.TrimSpace(pg.Code + " " + pg.ConstraintName)
	}
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		_, key, _ := strings.Cut(my.Message, " for key ")
		return strings.TrimSpace(fmt.Sprintf("%d %s", my.Number, strings.Trim(key, "'")))
	}
	if _, index, ok := strings.Cut(fmt.Sprint(err), "UNIQUE constraint failed: index '"); ok {
		index, _, _ = strings.Cut(index, "'")
		return "UNIQUE " + index
	}
	noError(b.T, err)
	return ""
}

// same is the code of a row that a unique index would refuse.
func (b *bench) same(index string) string { return b.by("23505 ", "1062 ", "UNIQUE ") + index }

// waiting counts the writers that wait for another one.
func (b *bench) waiting() int {
	b.Helper()
	if b.Dialect == dialect.PostgreSQL {
		n, err := strconv.Atoi(b.text("SELECT count(*)::text FROM pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())"))
		noError(b.T, err)
		return n
	}
	var kind, name, status string // a view of it is not read anew for tests that ask more often than every 100 ms
	noError(b.T, b.DB.QueryRowContext(b.Context(), "SHOW ENGINE INNODB STATUS").Scan(&kind, &name, &status))
	return len(regexp.MustCompile("of table .?"+regexp.QuoteMeta(b.text("SELECT database()"))+"\\b.* waiting").FindAllString(status, -1))
}

// disable takes the triggers from lines that let them refer to winners.
func (b *bench) disable() {
	b.Helper()
	if b.Dialect == dialect.PostgreSQL {
		b.exec("ALTER TABLE line DISABLE TRIGGER USER")
		return
	}
	for name := range strings.FieldsSeq(b.text(b.by("", "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = database() AND EVENT_OBJECT_TABLE = 'line'",
		"SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'line'"))) {
		b.exec("DROP TRIGGER " + name)
	}
}

// guardObjects counts what guards have in the database.
func (b *bench) guardObjects() string {
	b.Helper()
	if b.Dialect == dialect.MySQL {
		return b.text("SELECT (SELECT count(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = database() AND TRIGGER_NAME LIKE 'semel_dedupe_guard%')" +
			" + (SELECT count(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = database() AND TABLE_NAME LIKE 'semel_dedupe_guard_%')")
	}
	return b.text(b.by(guardObjects, "", "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'semel\\_dedupe\\_guard\\_%' ESCAPE '\\'"))
}

func (b *bench) unguarded() {
	b.Helper()
	if got := b.guardObjects(); got != "0" {
		b.Errorf("%s objects of a guard are there", got)
	}
}

const guardObjects = "SELECT (SELECT count(*) FROM pg_proc WHERE proname LIKE 'semel_dedupe_guard%') + (SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'semel_dedupe_guard%') + (SELECT count(*) FROM pg_class WHERE relname LIKE 'semel_dedupe_guard_invoice%')"

// The guard refuses new duplicates as the index to come, and leaves the old ones alone.
func TestGuard(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.invoices()
		p := b.plan("invoice", "tenant;lower(trim(number))", marking())
		b.guard(p)
		b.guard(p) // again
		refused := b.same("invoice_tenant_number_key")
		for _, c := range []struct {
			want       string
			statements []string
		}{
			{refused, []string{"INSERT INTO invoice (id, tenant, number) VALUES (100, 1, 'a-1 ')"}},
			{refused, []string{b.by("INSERT", "INSERT IGNORE", "INSERT OR IGNORE") + " INTO invoice (id, tenant, number) VALUES (100, 1, 'b-1')" + b.by(" ON CONFLICT DO NOTHING", "", "")}},
			{refused, []string{"INSERT INTO invoice (id, tenant, number) VALUES (100, 3, 'x'), (101, 3, 'X')"}},
			{refused, []string{"INSERT INTO invoice (id, tenant, number) VALUES (100, 3, 'x')", "INSERT INTO invoice (id, tenant, number) VALUES (101, 3, 'X')"}},
			{refused, []string{"UPDATE invoice SET number = 'a-1' WHERE id = 3"}},
			{refused, []string{"INSERT INTO invoice (id, tenant, number) VALUES (3, 9, 'z') ON " + b.by("CONFLICT (id) DO UPDATE SET", "DUPLICATE KEY UPDATE", "CONFLICT (id) DO UPDATE SET") + " number = 'A-1'"}},
			{"", []string{"INSERT INTO invoice (id, tenant, number) VALUES (3, 1, 'B-1') ON " + b.by("CONFLICT (id) DO UPDATE SET", "DUPLICATE KEY UPDATE", "CONFLICT (id) DO UPDATE SET") + " note = 'again'"}},
			{"", []string{"INSERT INTO invoice (id, tenant, number) VALUES (103, 1, NULL), (104, 1, NULL)"}},
			{"", []string{"INSERT INTO invoice (id, tenant, number, merged_into) VALUES (105, 1, 'b-1', 3)"}},
			{refused, []string{"UPDATE invoice SET merged_into = NULL WHERE id = 105"}},
			{"", []string{"UPDATE invoice SET note = 'old' WHERE id = 2"}},
			{"", []string{"UPDATE invoice SET number = 'A-1 ' WHERE id = 2"}},
			{"", []string{"UPDATE invoice SET number = CASE id WHEN 3 THEN 'D-1' ELSE 'B-1' END WHERE id IN (3, 4)"}},
			{"", []string{"UPDATE invoice SET id = id + 1000 WHERE id = 4"}},
			{"", []string{"INSERT INTO invoice (id, tenant, number) VALUES (106, 4, 'n'), (107, 5, 'n')"}},
			{"", []string{"DELETE FROM invoice WHERE id = 106", "INSERT INTO invoice (id, tenant, number) VALUES (106, 4, 'N')"}},
			{"", []string{"UPDATE invoice SET merged_into = 1 WHERE id = 2", "UPDATE invoice SET merged_into = 6 WHERE id = 7"}},
			{refused, []string{"INSERT INTO invoice (id, tenant, number) VALUES (110, 1, 'c-1')"}}, // one of two is left
		} {
			if got := b.code(c.statements...); got != c.want {
				b.Errorf("%s: got %q, want %q", strings.Join(c.statements, "; "), got, c.want)
			}
		}
		all, err := b.in.Guards(b.Context())
		noError(b.T, err)
		if want := b.by("3", "5", "4"); len(all) != 1 || all[0].By != "test" || strconv.Itoa(len(all[0].Triggers)) != want {
			b.Errorf("the guards are %+v", all)
		}
		b.disable()
		if all, err = b.in.Guards(b.Context()); err != nil || all[0].State != "damaged" {
			b.Errorf("a guard without a trigger: %+v, %v", all, err)
		}
		b.guard(p)
		removed, err := b.in.RemoveGuard(b.Context(), "", "")
		if err != nil || removed == nil {
			b.Errorf("removed %v, %v", removed, err)
		}
		b.unguarded()
		if removed, err = b.in.RemoveGuard(b.Context(), "", ""); err != nil || removed != nil {
			b.Errorf("removed %v, %v without a guard", removed, err)
		}
	})
}

// Snapshots hide what others add: PostgreSQL refuses keys from such transactions, and MariaDB counts outside of them, or ends
// such a transaction where innodb_snapshot_isolation is on.
func TestGuardOfSnapshots(t *testing.T) {
	t.Parallel()
	guarded(t, func(b *bench) {
		b.invoices()
		b.guard(b.plan("invoice", "tenant;lower(trim(number))", marking()))
		for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelSerializable} {
			tx, err := b.DB.BeginTx(b.Context(), &sql.TxOptions{Isolation: level})
			noError(b.T, err)
			var n int
			noError(b.T, tx.QueryRowContext(b.Context(), "SELECT count(*) FROM line").Scan(&n))
			b.exec(fmt.Sprintf("INSERT INTO invoice (id, tenant, number) VALUES (%d, 6, 'n%[1]d')", 1000+level))
			_, err = tx.ExecContext(b.Context(), "UPDATE invoice SET note = 'q' WHERE id = 3")
			noError(b.T, err)
			_, err = tx.ExecContext(b.Context(), fmt.Sprintf("INSERT INTO invoice (id, tenant, number) VALUES (%d, 6, 'N%d')", 2000+level, 1000+level))
			want := b.by("SQLSTATE 0A000", "for key 'invoice_tenant_number_key'", "")
			if b.Dialect == dialect.MySQL && b.snapshotIsolation() {
				want = "Error 1020"
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				b.Errorf("%s: got %v, want %s", level, err, want)
			}
			noError(b.T, tx.Rollback())
		}
	})
}

// What other triggers and generated columns make of a row counts.
func TestGuardSeesWhatIsStored(t *testing.T) {
	t.Parallel()
	guarded(t, func(b *bench) {
		b.invoices()
		if b.Dialect == dialect.PostgreSQL {
			b.exec("CREATE FUNCTION tidy() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.tenant := abs(NEW.tenant); RETURN NEW; END'")
		}
		tidy := b.by("CREATE TRIGGER zz_tidy BEFORE INSERT OR UPDATE ON invoice FOR EACH ROW EXECUTE FUNCTION tidy()", "CREATE TRIGGER zz_tidy BEFORE INSERT ON invoice FOR EACH ROW SET NEW.tenant = abs(NEW.tenant)", "")
		b.exec(tidy)
		q := marking()
		q.Triggers, q.Index = true, "one_invoice"
		b.guard(b.plan("invoice", "tenant;norm", q))
		if got := b.code("INSERT INTO invoice (id, tenant, number) VALUES (100, -1, 'B-1 ')"); got != b.same("one_invoice") {
			b.Errorf("got %q", got)
		}
	})
}

// NULL is the same as NULL where the rule says it, and an index finds it.
func TestGuardOfNulls(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.exec("CREATE TABLE invoice (id int PRIMARY KEY, tenant int, number varchar(20))", "INSERT INTO invoice VALUES (1, 1, NULL), (2, 1, NULL), (3, 1, 'it''s')")
		p, err := b.in.Plan(b.Context(), rule(b.T, "fields: [tenant, number], nulls: same"), request())
		noError(b.T, err)
		b.guard(p)
		for statement, want := range map[string]string{
			"INSERT INTO invoice VALUES (10, 1, NULL)":                 b.same("once"),
			"INSERT INTO invoice VALUES (11, 1, 'it''s')":              b.same("once"),
			"INSERT INTO invoice VALUES (12, 2, NULL)":                 "",
			"INSERT INTO invoice VALUES (13, NULL, NULL)":              "",
			"UPDATE invoice SET tenant = 1, number = 'x' WHERE id = 1": "",
		} {
			if got := b.code(statement); got != want {
				b.Errorf("%s: got %q, want %q", statement, got, want)
			}
		}
	})
}

// Equal values that are written in different ways have the same lock.
func TestGuardLocksEqualValues(t *testing.T) {
	t.Parallel()
	guarded(t, func(b *bench) {
		b.exec("CREATE TABLE invoice (id int PRIMARY KEY, amount "+b.by("numeric", "decimal(20, 2)", "")+")", "INSERT INTO invoice VALUES (1, 5), (2, 5.0)")
		b.guard(b.plan("invoice", "amount", request()))
		tx, err := b.DB.BeginTx(b.Context(), nil)
		noError(b.T, err)
		_, err = tx.ExecContext(b.Context(), "INSERT INTO invoice VALUES (10, 7.0)")
		noError(b.T, err)
		second := make(chan string)
		go func() { second <- b.code("INSERT INTO invoice VALUES (11, 7.00)") }()
		testserver.Eventually(b.T, "the second writer waits", func() bool { return b.waiting() == 1 })
		noError(b.T, tx.Commit())
		if got := <-second; got != b.same("invoice_amount_key") {
			b.Errorf("the second writer gets %q", got)
		}
	})
}

// A transaction with many rows does not fill the lock table of the server, and still excludes others.
func TestGuardOfManyRows(t *testing.T) {
	t.Parallel()
	b := invoices(t)
	b.guard(b.plan("invoice", "tenant;lower(trim(number))", marking()))
	tx, err := b.DB.BeginTx(t.Context(), nil)
	noError(t, err)
	defer tx.Rollback()
	_, err = tx.ExecContext(t.Context(), "INSERT INTO invoice (id, tenant, number) SELECT g, 9, g::text FROM generate_series(1000, 4000) g")
	noError(t, err)
	var locks int
	noError(t, tx.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()").Scan(&locks))
	if locks < 100 || locks > 600 {
		t.Errorf("the transaction holds %d locks", locks)
	}
	second := make(chan string)
	go func() { second <- b.code("INSERT INTO invoice (id, tenant, number) VALUES (10000, 9, '3999')") }()
	testserver.Eventually(t, "the second writer waits", func() bool {
		return b.text("SELECT count(*)::text FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())") == "1"
	})
	noError(t, tx.Commit())
	if got := <-second; got != "23505 invoice_tenant_number_key" {
		t.Errorf("the second writer gets %q", got)
	}
}

// Rows of all partitions count, even where no index could compare them.
func TestGuardOfPartitions(t *testing.T) {
	t.Parallel()
	guarded(t, func(b *bench) {
		add := b.by("CREATE TABLE invoice_3 PARTITION OF invoice FOR VALUES FROM ('2027-01-01') TO ('2028-01-01')", "ALTER TABLE invoice ADD PARTITION (PARTITION p3 VALUES LESS THAN ('2028-01-01'))", "")
		b.exec("CREATE TABLE invoice (id int, number varchar(20), at date, PRIMARY KEY (id, at)) " +
			b.by("PARTITION BY RANGE (at)", "PARTITION BY RANGE COLUMNS (at) (PARTITION p1 VALUES LESS THAN ('2026-01-01'), PARTITION p2 VALUES LESS THAN ('2027-01-01'))", ""))
		if b.Dialect == dialect.PostgreSQL {
			b.exec("CREATE TABLE invoice_1 PARTITION OF invoice FOR VALUES FROM ('2025-01-01') TO ('2026-01-01')", "CREATE TABLE invoice_2 PARTITION OF invoice FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')")
		}
		b.exec("INSERT INTO invoice VALUES (1, 'a', '2025-02-01'), (2, 'a', '2026-02-01'), (3, 'b', '2025-03-01')")
		p := b.plan("invoice", "number", request())
		b.guard(p)
		b.exec(add)
		for _, c := range []struct{ statement, want string }{
			{"INSERT INTO invoice VALUES (10, 'b', '2026-03-01')", b.same("invoice_number_key")},
			{"INSERT INTO " + b.by("invoice_3", "invoice PARTITION (p3)", "") + " VALUES (11, 'b', '2027-03-01')", b.same("invoice_number_key")},
			{"UPDATE invoice SET at = '2026-03-01' WHERE id = 3", ""},
			{"UPDATE invoice SET number = 'c' WHERE id = 2", ""},
			{"INSERT INTO " + b.by("invoice_1", "invoice PARTITION (p1)", "") + " VALUES (12, 'd', '2025-03-01')", ""},
			{"UPDATE invoice SET number = 'd', at = '2027-01-01' WHERE id = 1", b.same("invoice_number_key")},
		} {
			if got := b.code(c.statement); got != c.want {
				b.Errorf("%s: got %q, want %q", c.statement, got, c.want)
			}
		}
		_, err := b.in.RemoveGuard(b.Context(), "", "")
		noError(b.T, err)
		b.unguarded()
	})
}

// Writers who may only insert, and from whom policies hide rows, meet the guard like others.
func TestGuardOfOtherUsers(t *testing.T) {
	t.Parallel()
	b := invoices(t)
	b.guard(b.plan("invoice", "tenant;lower(trim(number))", marking()))
	role := "writer_" + strings.ReplaceAll(b.text("SELECT current_database()"), "-", "_")
	b.exec("CREATE ROLE "+role, "GRANT INSERT ON invoice, line TO "+role, "ALTER TABLE invoice ENABLE ROW LEVEL SECURITY", "CREATE POLICY p ON invoice FOR INSERT WITH CHECK (true)")
	t.Cleanup(func() {
		for _, statement := range []string{"DROP OWNED BY " + role, "DROP ROLE " + role} {
			_, err := b.DB.ExecContext(context.WithoutCancel(t.Context()), statement)
			noError(t, err)
		}
	})
	if got := b.code("SET LOCAL ROLE "+role, "INSERT INTO invoice (id, tenant, number) VALUES (100, 1, 'b-1')"); got != "23505 invoice_tenant_number_key" {
		t.Errorf("a duplicate: %q", got)
	}
	if got := b.code("SET LOCAL ROLE "+role, "INSERT INTO invoice (id, tenant, number) VALUES (100, 1, 'e-1')"); got != "" {
		t.Errorf("a new row: %q", got)
	}
	b.exec("UPDATE invoice SET merged_into = 1 WHERE id = 2")
	if got := b.code("SET LOCAL ROLE "+role, "INSERT INTO line VALUES (200, 2, 1)"); got != "" {
		t.Errorf("a line: %q", got)
	}
	b.want("SELECT invoice_id::text FROM line WHERE id = 200", "1")
}

// What a guard cannot do is refused by name, and leaves nothing.
func TestGuardRefusals(t *testing.T) {
	t.Parallel()
	b := invoices(t)
	p := b.plan("invoice", "tenant;lower(trim(number))", marking())
	try := func(want string) {
		t.Helper()
		_, err := b.in.InstallGuard(t.Context(), p, &dedupe.Options{By: "test"})
		b.refused(err, want)
	}
	b.exec("CREATE FUNCTION semel_dedupe_guard_invoice() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'")
	try("the function semel_dedupe_guard_invoice() is there already")
	b.exec("ALTER FUNCTION semel_dedupe_guard_invoice() RENAME TO other", "CREATE TRIGGER semel_dedupe_guard_invoice_insert BEFORE INSERT ON invoice FOR EACH ROW EXECUTE FUNCTION other()")
	try("public.invoice has a trigger semel_dedupe_guard_invoice_insert already")
	b.exec("DROP FUNCTION other CASCADE")
	role := "reader_" + strings.ReplaceAll(b.text("SELECT current_database()"), "-", "_")
	b.exec("CREATE ROLE "+role, "GRANT ALL ON ALL TABLES IN SCHEMA public TO "+role, "GRANT ALL ON SCHEMA public TO "+role)
	_, err := b.as(role).InstallGuard(t.Context(), p, &dedupe.Options{By: "test"})
	b.refused(err, "this user may not make an index of public.invoice, which belongs to "+b.text("SELECT current_user::text"))
	b.exec("DROP OWNED BY "+role, "DROP ROLE "+role)
	b.unguarded()
	b.exec("ALTER TABLE invoice ADD other int")
	try("new: column public.invoice.other")
	b.exec("DROP TABLE line, invoice")
	try("no table public.invoice")
}

// TestGuardWriters: writers at full speed add no duplicate while the guard is there, and none of their rows is lost.
func TestGuardWriters(t *testing.T) {
	t.Parallel()
	guarded(t, func(b *bench) {
		b.invoices()
		b.guard(b.plan("invoice", "tenant;lower(trim(number))", marking()))
		attempts := claimtest.Times(300, 600, 5000)
		var added, refused atomic.Int64
		var writers sync.WaitGroup
		for w := range 6 {
			writers.Go(func() {
				for i := range attempts {
					switch got := b.code(fmt.Sprintf("INSERT INTO invoice (id, tenant, number) VALUES (%d, 3, 'n%d')", 1000+w*attempts+i, i%100)); got {
					case b.same("invoice_tenant_number_key"):
						refused.Add(1)
					case "":
						added.Add(1)
					default:
						b.Errorf("a writer gets %q", got)
						return
					}
				}
			})
		}
		writers.Wait()
		if added.Load() != 100 || refused.Load() != int64(6*attempts-100) {
			b.Errorf("%d were added and %d refused", added.Load(), refused.Load())
		}
		b.want("SELECT concat(count(*), '/', count(DISTINCT lower(trim(number)))) FROM invoice WHERE tenant = 3", "100/100")
	})
}

// as is the database for another role.
func (b *bench) as(role string) *dedupe.Database {
	b.Helper()
	sign := "?"
	if strings.Contains(b.DSN, sign) {
		sign = "&"
	}
	return connect(b.T, "postgresql", b.DSN+sign+"role="+role)
}

// rule is a rule of a rules file about the table invoice.
func rule(t *testing.T, says string) *rules.Unique {
	t.Helper()
	file, err := rules.Parse("rules.yaml", []byte("version: 1\nunique:\n  - {name: once, says: A rule., table: invoice, scope: global, "+says+"}\n"))
	noError(t, err)
	return &file.Unique[0]
}

// BenchmarkGuard adds rows to a bare table, to one with an index as the guard has it, and to a guarded one, of 100,000 rows each,
// by turns, so that what else the machine does is the same for all.
func BenchmarkGuard(b *testing.B) {
	d := databases.Open(b, dialect.PostgreSQL)
	tables := []string{"bare", "indexed", "guarded"}
	for _, name := range tables {
		d.Exec(b, "CREATE TABLE "+name+" (id int PRIMARY KEY, number text, merged_into int)", "INSERT INTO "+name+" SELECT g, 'N' || g / 2 FROM generate_series(1, 100000) g")
	}
	d.Exec(b, "CREATE INDEX ON indexed (lower(btrim(number))) WHERE merged_into IS NULL", "VACUUM ANALYZE")
	u, err := dedupe.KeyRule("guarded", []string{"lower(trim(number))"}, true)
	noError(b, err)
	in := &dedupe.Database{DB: d.DB, Dialect: dialect.PostgreSQL}
	p, err := in.Plan(b.Context(), u, marking())
	noError(b, err)
	_, err = in.InstallGuard(b.Context(), p, &dedupe.Options{By: "bench"})
	noError(b, err)
	took := map[string]time.Duration{}
	next := 1_000_000
	for b.Loop() {
		next++
		for _, name := range tables {
			start := time.Now()
			_, err := d.DB.ExecContext(b.Context(), "INSERT INTO "+name+" VALUES ($1, 'M' || $1::int)", next)
			noError(b, err)
			took[name] += time.Since(start)
		}
	}
	for _, name := range tables {
		b.ReportMetric(float64(took[name].Microseconds())/float64(b.N), "µs/"+name)
	}
	b.ReportMetric(float64(took["guarded"])/float64(took["bare"]), "guarded/bare")
}
