package dedupe_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/schema/dedupe"
)

// user is a database for a new user of MariaDB with these rights, and the user's name in SQL.
func (b *bench) user(grants ...string) (limited *bench, name string) {
	b.Helper()
	config, err := mysql.ParseDSN(strings.TrimPrefix(b.DSN, "mysql:"))
	noError(b.T, err)
	config.User, config.Passwd = config.DBName[max(0, len(config.DBName)-20):]+"_g", ""
	name = "'" + config.User + "'@'%'"
	b.exec("DROP USER IF EXISTS "+name, "CREATE USER "+name)
	b.Cleanup(func() {
		_, _ = b.DB.ExecContext(context.WithoutCancel(b.Context()), "DROP USER IF EXISTS "+name)
	})
	for _, grant := range grants {
		b.exec("GRANT " + grant + " TO " + name)
	}
	db := databases.Connect(b.T, "mysql", config.FormatDSN())
	return wrap(b.T, &databases.Database{Dialect: b.Dialect, DSN: b.DSN, DB: db}), name
}

// Rights that are missing are named before anything is made, those of others are left alone, and writers need none of their own.
func TestGuardRightsOfMariaDB(t *testing.T) {
	t.Parallel()
	b := in(t, dialect.MySQL)
	b.invoices()
	p := b.plan("invoice", "tenant;lower(trim(number))", marking())
	name := b.text("SELECT database()")
	rights := []string{"PROCESS ON *.*", "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX, ALTER, REFERENCES ON " + name + ".*"}
	try := func(want string, more ...string) {
		t.Helper()
		limited, _ := b.user(slices.Concat(rights, more)...)
		_, err := limited.in.InstallGuard(t.Context(), p, &dedupe.Options{By: "test"})
		b.refused(err, want)
		b.unguarded()
		b.want("SELECT count(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = database() AND TABLE_NAME LIKE 'semel_%'", "0")
	}
	try("this user may not make triggers on " + b.full("invoice") + " (GRANT TRIGGER ON")
	try("this user may not make triggers on "+b.full("line")+" (GRANT TRIGGER ON", "TRIGGER ON "+name+".invoice")
	try("this user may not lock "+b.full("invoice")+" (GRANT LOCK TABLES ON", "TRIGGER ON "+name+".*")
	all := slices.Concat(rights, []string{"TRIGGER, LOCK TABLES ON " + name + ".*"})
	b.exec("CREATE TRIGGER semel_dedupe_guard_invoice_update BEFORE INSERT ON line FOR EACH ROW SET @x = 1")
	limited, _ := b.user(all...)
	_, err := limited.in.InstallGuard(t.Context(), p, &dedupe.Options{By: "test"})
	b.refused(err, b.full("line")+" has a trigger semel_dedupe_guard_invoice_update already, which does not belong to this guard")
	b.exec("DROP TRIGGER semel_dedupe_guard_invoice_update", "CREATE TABLE semel_dedupe_guard_invoice_values (id int)")
	_, err = limited.in.InstallGuard(t.Context(), p, &dedupe.Options{By: "test"})
	b.refused(err, "the table semel_dedupe_guard_invoice_values is there already, and does not belong to this guard")
	b.exec("DROP TABLE semel_dedupe_guard_invoice_values")
	limited.guard(p)
	b.exec("UPDATE invoice SET merged_into = 1 WHERE id = 2")
	writer := func(statement string) string { return limited.code(statement) }
	if got := writer("INSERT INTO invoice (id, tenant, number) VALUES (100, 1, 'b-1')"); got != b.same("invoice_tenant_number_key") {
		t.Errorf("a duplicate: %q", got)
	}
	_, err = limited.in.RemoveGuard(t.Context(), "", "")
	noError(t, err)
	b.unguarded()
	b.guard(p)
	limited, _ = b.user("INSERT ON "+name+".invoice", "INSERT ON "+name+".line")
	for statement, want := range map[string]string{
		"INSERT INTO invoice (id, tenant, number) VALUES (100, 1, 'b-1')": b.same("invoice_tenant_number_key"),
		"INSERT INTO invoice (id, tenant, number) VALUES (101, 1, 'e-1')": "",
		"INSERT INTO line VALUES (200, 2, 1)":                             "",
	} {
		if got := writer(statement); got != want {
			t.Errorf("%s: got %q, want %q", statement, got, want)
		}
	}
	b.want("SELECT invoice_id FROM line WHERE id = 200", "1")
}

// What was there before the triggers is counted as they count it, whatever its type; a value is free when its last row goes.
func TestGuardCountsWhatIsThere(t *testing.T) {
	t.Parallel()
	b := in(t, dialect.MySQL)
	b.exec("CREATE TABLE invoice (id int AUTO_INCREMENT PRIMARY KEY, bytes varbinary(9), bits bit(12), f float, d double, n decimal(30,10), at datetime(6), ts timestamp(6) NULL, e enum('a','B'), big bigint unsigned," +
		" l varchar(20) CHARACTER SET latin1, u varchar(20) COLLATE utf8mb4_bin, loose varchar(20) COLLATE utf8mb4_general_ci) CHARACTER SET utf8mb4")
	columns := "bytes, bits, f, d, n, at, ts, e, big, l, u, loose"
	rows := []string{
		`x'00FF2741', b'101', 0.1, 0.1, 12345678901234567890.0123456789, '2026-03-29 01:59:59.123456', '2026-10-25 00:30:00.5', 'a', 18446744073709551615, 'é''\\', 'A ', 'A'`,
		`x'', b'0', -1e-38, -1e308, -0.0000000001, '1000-01-01 00:00:00', '1970-01-02 00:00:01', 'B', 0, '', '€', 'a'`,
	}
	for _, row := range rows {
		b.exec("INSERT INTO invoice ("+columns+") VALUES ("+row+")", "INSERT INTO invoice ("+columns+") VALUES ("+row+")")
	}
	p, err := b.in.Plan(t.Context(), rule(t, "fields: ["+columns+"]"), request())
	noError(t, err)
	b.guard(p)
	b.want("SELECT group_concat(semel_rows) FROM semel_dedupe_guard_once_values", "2,2")
	for i, row := range rows {
		insert := "INSERT INTO invoice (" + columns + ") VALUES (" + row + ")"
		for _, c := range []struct{ statement, want string }{
			{insert, b.same("once")},
			{fmt.Sprintf("DELETE FROM invoice WHERE id = %d", 2*i+1), ""},
			{insert, b.same("once")},
			{fmt.Sprintf("DELETE FROM invoice WHERE id = %d", 2*i+2), ""},
			{insert, ""},
			{insert, b.same("once")},
		} {
			if got := b.code(c.statement); got != c.want {
				t.Errorf("%s: got %q, want %q", c.statement, got, c.want)
			}
		}
	}
	if got := b.code("INSERT INTO invoice (" + columns + ") SELECT " + strings.Replace(columns, "loose", "upper(loose)", 1) + " FROM invoice ORDER BY id DESC LIMIT 1"); got != "" {
		t.Errorf("a text that only the collation of its column takes for the same gets %q", got)
	}
}

// Rows that were added, changed and deleted while the rows of before are counted are counted once.
func TestGuardCountsMeanwhile(t *testing.T) {
	t.Parallel()
	b := in(t, dialect.MySQL)
	b.exec("CREATE TABLE invoice (id int PRIMARY KEY, number varchar(20))")
	b.fill("invoice", 450, func(i int) string { return fmt.Sprintf("%d, 'n%d'", i, i%400) })
	p := b.plan("invoice", "number", request())
	begun := 0
	b.in.Before(func(statement string) {
		if strings.HasSuffix(statement, ") AS v WHERE semel_e1 IS NOT NULL") { // they are about to be read
			b.exec("DELETE FROM invoice WHERE id = 11", "INSERT INTO invoice VALUES (900, 'early'), (901, 'n11')")
		}
		if !strings.HasPrefix(statement, "INSERT INTO") || !strings.Contains(statement, "_values\" VALUES (") {
			return
		}
		if begun++; begun == 2 {
			b.exec("DELETE FROM invoice WHERE id IN (10, 449)", "INSERT INTO invoice VALUES (1000, 'new'), (1001, 'n10'), (1002, 'n399')", "UPDATE invoice SET number = concat('x', id) WHERE id IN (20, 448)")
		}
	})
	b.guard(p)
	b.in.Before(nil)
	if begun < 3 {
		t.Errorf("the rows were counted in %d steps", begun)
	}
	b.want("SELECT count(*) FROM (SELECT number, count(*) AS n FROM invoice GROUP BY number) AS i LEFT JOIN semel_dedupe_guard_invoice_values AS v ON v.semel_e1 = i.number WHERE NOT i.n <=> v.semel_rows", "0")
	b.want("SELECT count(*) FROM semel_dedupe_guard_invoice_values AS v LEFT JOIN invoice AS i ON i.number = v.semel_e1 WHERE i.id IS NULL AND v.semel_rows <> 0", "0")
}

// A guard that lost a trigger, or whose installation did not end, has counted wrongly: it counts anew.
func TestGuardCountsAnew(t *testing.T) {
	t.Parallel()
	b := in(t, dialect.MySQL)
	b.exec("CREATE TABLE invoice (id int PRIMARY KEY, number varchar(20))", "INSERT INTO invoice VALUES (1, 'a')")
	p := b.plan("invoice", "number", request())
	b.guard(p)
	for _, what := range []string{"DROP TRIGGER semel_dedupe_guard_invoice_delete", "UPDATE semel_dedupe_guard SET installed_at = NULL", "DROP TABLE semel_dedupe_guard_invoice_values"} {
		b.exec(what)
		if strings.HasPrefix(what, "UPDATE") {
			b.exec("DELETE FROM semel_dedupe_guard_invoice_values")
		}
		if strings.HasPrefix(what, "DROP TRIGGER") {
			b.exec("DELETE FROM invoice", "UPDATE semel_dedupe_guard_invoice_values SET semel_rows = 3", "INSERT INTO invoice VALUES (3, 'b')")
		}
		b.guard(p)
		b.want("SELECT group_concat(concat(semel_e1, '=', semel_rows)) FROM semel_dedupe_guard_invoice_values", "b=1")
	}
}

// Rows that change with those of other tables do so without triggers: values are refused, and rows that vanish are noted.
func TestGuardOfCascades(t *testing.T) {
	t.Parallel()
	b := in(t, dialect.MySQL)
	b.exec("CREATE TABLE customer (id int PRIMARY KEY)", "CREATE TABLE invoice (id int PRIMARY KEY, customer_id int, number varchar(20), CONSTRAINT of_customer FOREIGN KEY (customer_id) REFERENCES customer (id) ON UPDATE CASCADE ON DELETE CASCADE)")
	_, err := b.in.InstallGuard(t.Context(), b.plan("invoice", "customer_id;number", request()), &dedupe.Options{By: "test"})
	b.refused(err, "the foreign key of_customer changes columns of the rule")
	b.unguarded()
	guard := b.guard(b.plan("invoice", "number", request()))
	if len(guard.Notes) != 1 || !strings.Contains(guard.Notes[0], "deletes with those of customer") {
		t.Errorf("the notes are %q", guard.Notes)
	}
}

func TestManyTriggers(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]bool{"10.11.19-MariaDB-0+deb12u1": true, "10.2.3-MariaDB": true, "10.2.2-MariaDB": false, "5.5.5-MariaDB": false, "8.0.36": true, "5.7.2-log": true, "5.7.1": false, "5.6.51": false, "": false} {
		if got := dedupe.ManyTriggers(server); got != want {
			t.Errorf("%s: got %t", server, got)
		}
	}
}
