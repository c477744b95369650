package dbguard_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/guardtest"
	"github.com/semel-dev/semel/rules"
)

// secret represents personal data: no text of ours may contain it.
const secret = "ada@example.test' for key 'invoice_number"

// column is a term that is a column.
func column(name string) rules.Term {
	return rules.Term{Text: name, Column: name, Columns: []string{name}}
}

// invoiceRules are the rules of the tables of [invoices].
func invoiceRules() []rules.Unique {
	return []rules.Unique{
		{Name: "invoice_number", Table: "invoices", Scope: []rules.Term{column("tenant_id")}, Fields: []rules.Term{column("number")}},
		{
			Name: "invoice_email", Table: "invoices", Index: "it's an e-mail",
			Fields: []rules.Term{{Text: "lower(email)", Columns: []string{"email"}}},
		},
		{Name: "other_number", Table: "others", Index: "invoice_number", Fields: []rules.Term{column("number")}},
	}
}

// invoices makes the tables of [invoiceRules].
func invoices(tb testing.TB, db *guardtest.Database) {
	tb.Helper()
	d := db.Dialect()
	generated, lowered, other := "", "(lower(email))", "other_invoice_number"
	if d == dbguard.MySQL {
		generated, lowered, other = ", lowered varchar(100) AS (lower(email))", "(lowered)", "invoice_number"
	}
	db.Run(
		tb,
		"CREATE TABLE parents (id int PRIMARY KEY)",
		"CREATE TABLE invoices (id int PRIMARY KEY, tenant_id int NOT NULL CHECK (tenant_id < 100), number varchar(100) NOT NULL, "+
			"email varchar(100), code varchar(100), parent int, FOREIGN KEY (parent) REFERENCES parents (id)"+generated+")",
		"CREATE UNIQUE INDEX invoice_number ON invoices (tenant_id, number)",
		"CREATE UNIQUE INDEX "+dialect.Dialect(d).Quote("it's an e-mail")+" ON invoices "+lowered,
		"CREATE UNIQUE INDEX unnamed_code ON invoices (code)",
		"CREATE TABLE others (id int PRIMARY KEY, number varchar(100) NOT NULL)",
		"CREATE UNIQUE INDEX "+other+" ON others (number)",
	)
}

func TestTranslate(t *testing.T) {
	t.Parallel()
	invoice := "INSERT INTO invoices (id, tenant_id, number, email, code, parent) VALUES "
	tests := []struct {
		name, statement string
		rule            string // "" for other errors, "-" where no rule names it
		fields          []string
	}{
		{"rule on columns", invoice + "(2, 1, '%s', 'other', 'other', NULL)", "invoice_number", []string{"number"}},
		{"rule on an expression", invoice + "(2, 2, 'other', upper('%s'), 'other', NULL)", "invoice_email", []string{"email"}},
		{"index without a rule", invoice + "(2, 2, 'other', 'other', '%s', NULL)", "-", nil},
		{"primary key", invoice + "(1, 2, 'other', 'other', 'other', NULL)", "-", nil},
		{"foreign key", invoice + "(2, 2, 'other', 'other', 'other', 7)", "", nil},
		{"not null", invoice + "(2, 2, NULL, 'other', 'other', NULL)", "", nil},
		{"check", invoice + "(2, 200, 'other', 'other', 'other', NULL)", "", nil},
		{"syntax", "INSERT INTO nowhere VALUES (1)", "", nil},
	}
	translator := dbguard.NewTranslator(invoiceRules())
	quoted := strings.ReplaceAll(secret, "'", "''")
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		invoices(t, db)
		db.Run(t, fmt.Sprintf(invoice+"(1, 1, '%[1]s', '%[1]s', '%[1]s', NULL)", quoted))
		for _, test := range tests {
			_, err := db.Exec(t.Context(), strings.ReplaceAll(test.statement, "%s", quoted))
			if err == nil {
				t.Fatalf("%s: the statement did not fail", test.name)
			}
			got := translator.For("invoices").Translate(fmt.Errorf("save: %w", err))
			conflict, ok := errors.AsType[*dbguard.Conflict](got)
			if ok != (test.rule != "") {
				t.Errorf("%s: Translate = %v", test.name, got)
				continue
			}
			if !ok {
				continue
			}
			if strings.Contains(got.Error(), "example") || strings.Contains(fmt.Sprintf("%+v", got), "example") {
				t.Errorf("%s: the text has a value: %v", test.name, got)
			}
			rule := "-"
			if conflict.Rule != nil {
				rule = conflict.Rule.Name
				if diff := cmp.Diff(test.fields, conflict.Fields); diff != "" {
					t.Errorf("%s: fields (-want +got):\n%s", test.name, diff)
				}
			}
			if rule != test.rule {
				t.Errorf("%s: rule = %s, want %s (%v)", test.name, rule, test.rule, err)
			}
			if again := translator.Translate(got); conflict.Rule != nil && !cmp.Equal(again, got, cmp.Comparer(sameError)) {
				t.Errorf("%s: translated twice it is %v", test.name, again)
			}
		}
		_, err := db.Exec(t.Context(), "INSERT INTO others (id, number) VALUES (1, 'x'), (2, 'x')")
		conflict, ok := errors.AsType[*dbguard.Conflict](translator.For("others").Translate(err))
		if d := db.Dialect(); !ok || (conflict.Rule == nil) != (d == dbguard.PostgreSQL) { // there the index has another name
			t.Errorf("the other table: %v", conflict)
		}
	})
	if err := translator.Translate(nil); err != nil {
		t.Errorf("Translate(nil) = %v", err)
	}
}

func sameError(a, b error) bool { return errors.Is(a, b) }

// An index of MariaDB that two rules may mean is neither's.
func TestTranslateAmbiguous(t *testing.T) {
	t.Parallel()
	db := guardtest.Open(t, dbguard.MySQL)
	invoices(t, db)
	_, err := db.Exec(t.Context(), "INSERT INTO others (id, number) VALUES (1, 'x'), (2, 'x')")
	conflict, ok := errors.AsType[*dbguard.Conflict](dbguard.NewTranslator(invoiceRules()).Translate(err))
	if !ok || conflict.Rule != nil || conflict.Index != "invoice_number" {
		t.Errorf("Translate = %v", conflict)
	}
}

// What PostgreSQL only has: constraints that are looked at when the transaction
// commits, exclusion constraints, and partitions.
func TestTranslatePostgreSQL(t *testing.T) {
	t.Parallel()
	list := []rules.Unique{
		{Name: "slot", Table: "slots", Fields: []rules.Term{column("place")}},
		{Name: "room", Table: "rooms", Fields: []rules.Term{column("during")}},
		{Name: "event_id", Table: "events", Fields: []rules.Term{column("day"), column("id")}},
		{Name: "event_code", Table: "events", Index: "another", Fields: []rules.Term{column("code"), column("day")}},
	}
	for _, open := range []func(testing.TB) *guardtest.Database{
		guardtest.Pgx,
		func(tb testing.TB) *guardtest.Database { tb.Helper(); return guardtest.Open(tb, dbguard.PostgreSQL) },
	} {
		db := open(t)
		db.Run(
			t,
			"CREATE TABLE slots (place int CONSTRAINT slot UNIQUE DEFERRABLE INITIALLY DEFERRED)",
			"CREATE TABLE rooms (during int4range, CONSTRAINT room EXCLUDE USING gist (during WITH &&))",
			"INSERT INTO rooms VALUES ('[1,5)')",
			"CREATE TABLE events (day int, id int, code int) PARTITION BY RANGE (day)",
			"CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (day)",
			"CREATE TABLE events_1a PARTITION OF events_1 FOR VALUES FROM (0) TO (5)",
			"CREATE UNIQUE INDEX event_id ON events (day, id)",
			"CREATE UNIQUE INDEX event_by_code ON events (day, code)",
			"INSERT INTO events VALUES (1, 1, 1)",
		)
		translator := dbguard.NewTranslator(list)
		ruleOf := func(err error) string {
			t.Helper()
			err = translator.Resolve(t.Context(), db, err)
			if c, ok := errors.AsType[*dbguard.Conflict](err); ok && c.Rule != nil {
				return c.Rule.Name
			}
			return fmt.Sprint(err)
		}
		err := db.InTx(t.Context(), func(ctx context.Context, tx dbguard.Session) error {
			_, err := tx.Exec(ctx, "INSERT INTO slots VALUES (1), (1)")
			return err
		})
		if got := ruleOf(err); got != "slot" {
			t.Errorf("deferred: %s", got)
		}
		_, err = db.Exec(t.Context(), "INSERT INTO rooms VALUES ('[4,6)')")
		if got := ruleOf(err); got != "room" {
			t.Errorf("exclusion: %s", got)
		}
		for range 2 { // the second time from memory
			_, err = db.Exec(t.Context(), "INSERT INTO events VALUES (1, 1, 2)")
			if got := ruleOf(translator.Translate(err)); got != "event_id" {
				t.Errorf("partition: %s", got)
			}
		}
		_, err = db.Exec(t.Context(), "INSERT INTO events VALUES (1, 2, 1)")
		if got := ruleOf(err); got != "event_code" {
			t.Errorf("index under another name: %s", got)
		}
	}
}

// MySQL also finds an index that was made under another name.
func TestResolveMySQL(t *testing.T) {
	t.Parallel()
	db := guardtest.Open(t, dbguard.MySQL)
	db.Run(t, "CREATE TABLE things (a int, b int, UNIQUE KEY by_hand (b, a))", "INSERT INTO things VALUES (1, 2)")
	_, err := db.Exec(t.Context(), "INSERT INTO things VALUES (1, 2)")
	translator := dbguard.NewTranslator([]rules.Unique{{Name: "thing", Table: "things", Fields: []rules.Term{column("a"), column("b")}}})
	conflict, ok := errors.AsType[*dbguard.Conflict](translator.For("things").Resolve(t.Context(), db, err))
	if !ok || conflict.Rule == nil || conflict.Rule.Name != "thing" || conflict.Index != "by_hand" {
		t.Errorf("Resolve = %v", conflict)
	}
}

// A conflict is one also when the database cannot be asked about it.
func TestResolveUnreachable(t *testing.T) {
	t.Parallel()
	db := guardtest.Pgx(t)
	db.Run(t, "CREATE TABLE things (a int UNIQUE)", "INSERT INTO things VALUES (1)")
	_, err := db.Exec(t.Context(), "INSERT INTO things VALUES (1)")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	conflict, ok := errors.AsType[*dbguard.Conflict](dbguard.NewTranslator(nil).Resolve(ctx, db, err))
	if !ok || conflict.Rule != nil || conflict.Index != "things_a_key" {
		t.Errorf("Resolve = %v", conflict)
	}
}
