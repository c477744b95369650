package catalog_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/testserver/databases"
	"github.com/semel-dev/semel/schema/catalog"
)

func ExampleRead() {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	ctx := context.Background()
	if _, err := db.ExecContext(ctx, `CREATE TABLE invoices (id INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, number TEXT COLLATE NOCASE);
		CREATE UNIQUE INDEX invoices_number ON invoices (tenant, lower(number)) WHERE number <> ''`); err != nil {
		fmt.Println(err)
		return
	}
	schema, err := catalog.Read(ctx, db, dialect.SQLite)
	if err != nil {
		fmt.Println(err)
		return
	}
	table, _ := schema.Table("invoices")
	index, _ := table.Index("invoices_number")
	fmt.Println(index.Unique, index.Parts[0].Column, index.Parts[1].Expression, index.Where)
	// Output:
	// true tenant lower(number) number <> ''
}

// read makes a schema and reads it.
func read(t *testing.T, db *databases.Database, statements ...string) *catalog.Schema {
	t.Helper()
	db.Exec(t, statements...)
	schema, err := catalog.Read(t.Context(), db.DB, db.Dialect)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// shown writes what is read of a table, a line for each column and index.
func shown(t *testing.T, schema *catalog.Schema, name string) string {
	t.Helper()
	table, ok := schema.Table(name)
	if !ok {
		t.Fatalf("no table %s in %+v", name, schema.Tables)
	}
	var lines []string
	for _, c := range table.Columns {
		line := c.Name + " " + c.Type
		for _, flag := range []struct {
			set  bool
			text string
		}{
			{c.Nullable, "null"},
			{c.Loose, "loose"},
			{c.IgnoresCase, "case"},
			{c.IgnoresAccents, "accents"},
			{c.Stored, "stored"},
			{c.Minted, "minted"},
			{c.Generated != "", "= " + c.Generated},
			{c.References != "", "-> " + c.References},
		} {
			if flag.set {
				line += " " + flag.text
			}
		}
		lines = append(lines, line)
	}
	for _, x := range table.Indexes {
		var parts []string
		for _, p := range x.Parts {
			part := p.Column + p.Expression
			if p.Prefix > 0 {
				part += fmt.Sprintf("(%d)", p.Prefix)
			}
			if p.Collation != "" {
				part += " " + p.Collation
			}
			if p.Loose {
				part += " loose"
			}
			if p.Descending {
				part += " desc"
			}
			parts = append(parts, part)
		}
		line := "index " + x.Name + " (" + strings.Join(parts, ", ") + ")"
		for _, flag := range []struct {
			set  bool
			text string
		}{
			{x.Unique, "unique"},
			{x.Primary, "primary"},
			{x.Exclusion, "exclusion"},
			{x.NullsNotDistinct, "nulls same"},
			{!x.Valid, "invalid"},
			{x.Deferrable, "deferrable"},
			{x.Ignored, "ignored"},
			{x.Root != "", "of " + x.Root},
			{x.Where != "", "where " + x.Where},
		} {
			if flag.set {
				line += " " + flag.text
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func check(t *testing.T, got, want string) {
	t.Helper()
	want = strings.ReplaceAll(strings.TrimSpace(want), "\t", "")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

func TestReadPostgreSQL(t *testing.T) {
	t.Parallel()
	schema := read(t, databases.Open(t, dialect.PostgreSQL),
		"CREATE EXTENSION citext",
		"CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false)",
		"CREATE DOMAIN code AS varchar(10) NOT NULL",
		"CREATE TABLE parents (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY)",
		`CREATE TABLE t (
			id bigserial PRIMARY KEY, parent bigint REFERENCES parents, c code, e citext, l text COLLATE loose,
			n text, up text GENERATED ALWAYS AS (upper(n)) STORED, uid uuid DEFAULT gen_random_uuid(), gone timestamptz,
			CONSTRAINT late UNIQUE (n) DEFERRABLE INITIALLY DEFERRED, EXCLUDE USING btree (c WITH =))`,
		`CREATE UNIQUE INDEX partial ON t (parent, lower(n) DESC) INCLUDE (c) WHERE gone IS NULL`,
		`CREATE UNIQUE INDEX same ON t (e, l, n COLLATE loose) NULLS NOT DISTINCT`,
	)
	check(t, shown(t, schema, "t"), `
		id bigint minted
		parent bigint null -> parents
		c code
		e citext null loose case
		l text null loose case accents
		n text null
		up text null stored = upper(n)
		uid uuid null minted
		gone timestamp with time zone null
		index late (n) unique deferrable
		index partial (parent, lower(n) desc) unique where (gone IS NULL)
		index same (e loose, l loose, n public.loose loose) unique nulls same
		index t_c_excl (c) unique exclusion
		index t_pkey (id) unique primary`)
}

func TestReadPartitions(t *testing.T) {
	t.Parallel()
	schema := read(t, databases.Open(t, dialect.PostgreSQL),
		"CREATE TABLE p (id bigint NOT NULL, day date NOT NULL) PARTITION BY RANGE (day)",
		"CREATE TABLE p1 PARTITION OF p FOR VALUES FROM ('2026-01-01') TO ('2027-01-01') PARTITION BY LIST (id)",
		"CREATE TABLE p1a PARTITION OF p1 DEFAULT",
		"CREATE UNIQUE INDEX whole ON p (id, day)",
		"CREATE UNIQUE INDEX half ON ONLY p (day, id)",
		"CREATE TABLE a (id int PRIMARY KEY)",
		"CREATE TABLE b () INHERITS (a)",
	)
	p, _ := schema.Table("p")
	a, _ := schema.Table("a")
	if diff := cmp.Diff([]any{catalog.Partitioned, []string{"p1a"}, []string{"day"}, []string{"b"}},
		[]any{p.Kind, p.Partitions, p.PartitionBy, a.Children}); diff != "" {
		t.Errorf("partitions (-want +got):\n%s", diff)
	}
	check(t, shown(t, schema, "p"), `
		id bigint
		day date
		index half (day, id) unique invalid
		index whole (id, day) unique`)
	leaf, _ := schema.Table("p1a")
	if x, ok := leaf.Index("p1a_id_day_idx"); !ok || x.Root != "whole" || leaf.Root != "p" {
		t.Errorf("a leaf of %q has the index %+v, want a part of the root's", leaf.Root, x)
	}
}

func TestReadMySQL(t *testing.T) {
	t.Parallel()
	schema := read(t, databases.Open(t, dialect.MySQL),
		"CREATE TABLE parents (id bigint PRIMARY KEY AUTO_INCREMENT)",
		`CREATE TABLE t (
			id bigint PRIMARY KEY AUTO_INCREMENT, parent bigint, n varchar(40) COLLATE utf8mb4_general_ci NOT NULL,
			b varchar(40) COLLATE utf8mb4_nopad_bin, x varbinary(16) NOT NULL,
			lo varchar(40) COLLATE utf8mb4_bin AS (lower(trim(n))) VIRTUAL, y int AS (year(d)) STORED, d date,
			UNIQUE KEY pre (n(10)), UNIQUE KEY lo (parent, lo), KEY plain (y), UNIQUE KEY hid (b) IGNORED,
			FOREIGN KEY (parent) REFERENCES parents (id))`,
		"CREATE TABLE p (id int NOT NULL, day int NOT NULL, UNIQUE KEY u (id, day)) PARTITION BY HASH (day) PARTITIONS 2",
		"CREATE VIEW v AS SELECT * FROM t",
	)
	check(t, shown(t, schema, "T"), `
		id bigint(20) minted
		parent bigint(20) null -> parents
		n varchar(40) loose case accents
		b varchar(40) null
		x varbinary(16)
		lo varchar(40) null = lcase(trim(`+"`n`"+`))
		y int(11) null stored = year(`+"`d`"+`)
		d date null
		index hid (b) unique ignored
		index lo (parent, lo) unique
		index plain (y)
		index pre (n(10) loose) unique
		index PRIMARY (id) unique primary`)
	p, _ := schema.Table("p")
	v, _ := schema.Table("v")
	if diff := cmp.Diff([]any{catalog.Partitioned, []string{"day"}, "InnoDB", catalog.View},
		[]any{p.Kind, p.PartitionBy, p.Engine, v.Kind}); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
}

func TestReadSQLite(t *testing.T) {
	t.Parallel()
	schema := read(t, databases.Open(t, dialect.SQLite),
		"CREATE TABLE parents (id INTEGER PRIMARY KEY)",
		`CREATE TABLE t (
			id INTEGER PRIMARY KEY AUTOINCREMENT, parent INT REFERENCES parents, "n, (m)" TEXT NOT NULL COLLATE NOCASE,
			s TEXT, up TEXT GENERATED ALWAYS AS (upper(s) || ',') STORED, gone TEXT, UNIQUE (parent, s))`,
		`CREATE UNIQUE INDEX partial ON t ("n, (m)" COLLATE BINARY, lower(trim(s)) COLLATE nocase DESC, up) WHERE gone IS NULL`,
		"CREATE TABLE w (k TEXT PRIMARY KEY, v TEXT) WITHOUT ROWID",
		"CREATE TABLE o (k TEXT PRIMARY KEY)",
		"CREATE VIEW v AS SELECT * FROM t",
	)
	check(t, shown(t, schema, "t"), `
		id INTEGER minted
		parent INT null -> parents
		n, (m) TEXT loose case
		s TEXT null
		up TEXT null stored = upper(s) || ','
		gone TEXT null
		index  (id) unique primary
		index partial (n, (m) BINARY, lower(trim(s)) nocase loose desc, up) unique where gone IS NULL
		index sqlite_autoindex_t_1 (parent, s) unique`)
	check(t, shown(t, schema, "w"), "k TEXT\nv TEXT null\nindex sqlite_autoindex_w_1 (k) unique primary")
	check(t, shown(t, schema, "o"), "k TEXT null\nindex sqlite_autoindex_o_1 (k) unique primary")
	if v, _ := schema.Table("v"); v.Kind != catalog.View {
		t.Errorf("the view is of kind %d", v.Kind)
	}
}

func TestTableFindsAndSuggests(t *testing.T) {
	t.Parallel()
	schema := read(t, databases.Open(t, dialect.PostgreSQL),
		"CREATE TABLE invoices (id int)", "CREATE SCHEMA billing", "CREATE TABLE billing.payments (amount int)")
	if _, ok := schema.Table("billing.payments"); !ok {
		t.Error("billing.payments is not found")
	}
	if _, ok := schema.Table("payments"); ok {
		t.Error("payments is found without its schema, which is not on the search path")
	}
	got := []string{schema.Near("payments"), schema.Near("invoces"), schema.Near("zebras")}
	if diff := cmp.Diff([]string{"billing.payments", "invoices", ""}, got); diff != "" {
		t.Errorf("near (-want +got):\n%s", diff)
	}
	payments, _ := schema.Table("billing.payments")
	if got := payments.NearColumn("amonut"); got != "amount" {
		t.Errorf("near amonut is %q", got)
	}
}

// A user of MySQL without rights learns which right to get, and a database
// without tables is not an error with the right.
func TestReadWithoutRights(t *testing.T) {
	t.Parallel()
	db := databases.Open(t, dialect.MySQL)
	if schema := read(t, db); len(schema.Tables) != 0 {
		t.Fatalf("an empty database has %+v", schema.Tables)
	}
	config, err := mysql.ParseDSN(strings.TrimPrefix(db.DSN, "mysql:"))
	if err != nil {
		t.Fatal(err)
	}
	user := "u" + config.DBName[len(config.DBName)-12:]
	db.Exec(t, "CREATE TABLE t (id int)", "CREATE USER "+user, "GRANT INSERT ON `"+config.DBName+"`.* TO "+user, "CREATE TABLE s (id int)")
	t.Cleanup(func() { _, _ = db.DB.ExecContext(context.WithoutCancel(t.Context()), "DROP USER "+user) })
	db.Exec(t, "REVOKE INSERT ON `"+config.DBName+"`.* FROM "+user, "GRANT EXECUTE ON `"+config.DBName+"`.* TO "+user)
	config.User, config.Passwd = user, ""
	poor, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	defer poor.Close()
	_, err = catalog.Read(t.Context(), poor, dialect.MySQL)
	if err == nil || !strings.Contains(err.Error(), "GRANT SELECT ON `"+config.DBName+"`.* TO '"+user+"'") {
		t.Errorf("got %v, want what to grant", err)
	}
}

// PostgreSQL compiles a statement that it thinks is expensive, which takes
// seconds; none of ours is, however wrong the estimates are.
func TestPostgreSQLCompilesNothing(t *testing.T) {
	t.Parallel()
	db := databases.Open(t, dialect.PostgreSQL)
	files, err := filepath.Glob("sql/postgres_*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d statements, error %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var plan string
		explain := "EXPLAIN (FORMAT JSON) " + strings.Replace(string(text), "$1", fmt.Sprint(catalog.MaxRows), 1)
		if err := db.DB.QueryRowContext(t.Context(), explain).Scan(&plan); err != nil {
			t.Fatal(err)
		}
		var nodes []struct {
			Plan struct {
				Cost float64 `json:"Total Cost"`
			}
		}
		if err := json.Unmarshal([]byte(plan), &nodes); err != nil {
			t.Fatal(err)
		}
		if got := nodes[0].Plan.Cost; got > 50_000 { // the server's jit_above_cost is 100,000
			t.Errorf("%s costs %.0f, want at most 50,000", file, got)
		}
	}
}

// No statement of MySQL asks something again for every row: the server would open every table of every database each time.
func TestMySQLAsksOnce(t *testing.T) {
	t.Parallel()
	db := databases.Open(t, dialect.MySQL)
	for _, name := range []string{"tables", "columns", "indexes"} {
		text, err := os.ReadFile(filepath.Join("sql", "mysql_"+name+".sql"))
		if err != nil {
			t.Fatal(err)
		}
		args := make([]any, strings.Count(string(text), "?"))
		for i := range args {
			args[i] = 1000
		}
		if plan := explain(t, db, string(text), args); strings.Contains(plan, "DEPENDENT") {
			t.Errorf("the statement for %s asks again for each row: %s", name, plan)
		}
	}
}

// explain returns the kind of each step of a statement.
func explain(t *testing.T, db *databases.Database, statement string, args []any) (kinds string) {
	t.Helper()
	rows, err := db.DB.QueryContext(t.Context(), "EXPLAIN "+statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(sql.NullString)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		kinds += values[1].(*sql.NullString).String + " " //nolint:forcetypeassert // see above.
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return kinds
}
