package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/rules/expression"
	"github.com/semel-dev/semel/rules"
)

// TestUnique: each rule holds what its file says.
func TestUnique(t *testing.T) {
	t.Parallel()
	file, err := rules.Load("testdata/unique.yaml")
	if err != nil {
		t.Fatal(err)
	}
	column := func(name string) rules.Term {
		return rules.Term{Text: name, Column: name, Columns: []string{name}, Expr: expression.Column(name)}
	}
	term := func(text string, columns ...string) rules.Term {
		e, err := expression.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return rules.Term{Text: text, Columns: columns, Expr: e}
	}
	message := func(text string) rules.Message { return rules.Message{Text: text} }
	const local = "((starts_at AT TIME ZONE 'Europe/Stockholm')::date)"
	want := []rules.Unique{
		{
			Name: "invoice_number", Says: "One invoice number per tenant per year.", Table: "billing.invoices", Index: "invoices_number_key",
			Scope: []rules.Term{column("tenant_id")}, Fields: []rules.Term{column("number"), term("year(issued_on)", "issued_on")},
			Nulls: rules.NullsForbidden,
			Except: []rules.Exception{
				{Counts: expression.Condition{Column: "deleted_at"}},
				{Counts: expression.Condition{Column: "status", Test: expression.Differs, Value: expression.Constant{Text: "cancelled"}}},
			},
			Show: []string{"number"},
			Labels: map[string]map[string]string{
				"en": {"number": "invoice number", "issued_on": "year"}, "sv": {"number": "fakturanummer", "issued_on": "år"},
			},
			Messages: map[string]rules.Message{
				"en": message("Invoice number {number} was used this year already."), "sv": message("Fakturanumret {number} är redan använt i år."),
				"hi": message("चालान संख्या {number} इस साल पहले ही इस्तेमाल हो चुकी है।"), "zh": message("发票号{number}今年已被使用。"),
			},
		},
		{
			Name: "account_email", Says: "One account per e-mail address.", Table: "accounts", Index: "account_email",
			Fields: []rules.Term{term("lower(trim(email))", "email")}, Nulls: rules.NullsForbidden, NullsUnsaid: true, OnConflict: rules.ReturnExisting,
			Except: []rules.Exception{
				{Counts: expression.Condition{Column: "merged_into"}}, {Counts: expression.Condition{Column: "archived", Test: expression.NotTrue}},
			},
		},
		{
			Name: "payment", Says: "One payment per id that the other system gave.", Table: "payments", Index: "payment",
			Scope: []rules.Term{column("source"), column("external_id")}, Fields: []rules.Term{term("coalesce(part, 0)", "part")},
			Nulls: rules.NullsForbidden, NullsUnsaid: true, OnConflict: rules.Upsert, MayChange: []string{"note", "seen_at"}, MustNotChange: []string{"amount", "currency"},
		},
		{
			Name: "room", Says: "One booking per room and day.", Table: "bookings", Index: "room", Scope: []rules.Term{column("room_id")},
			Fields: []rules.Term{{
				Text: local, Columns: []string{"starts_at"},
				Raw: map[dialect.Dialect]string{dialect.PostgreSQL: local, dialect.SQLite: "date(starts_at)"},
			}},
			Nulls: rules.NullsSame,
		},
	}
	if diff := cmp.Diff(want, file.Unique, cmpopts.IgnoreTypes(rules.Position{})); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// TestPredicate: a row counts unless an exception holds.
func TestPredicate(t *testing.T) {
	t.Parallel()
	file, err := rules.Parse("rules.yaml", []byte(`version: 1
unique:
  - name: a
    says: One a.
    table: t
    scope: global
    fields: a
    except: [deleted_at is set, published_at is null, archived is true, active is false, "status = 'x'", kind = 3]
`))
	if err != nil {
		t.Fatal(err)
	}
	const want = `"active" IS NOT FALSE AND "archived" IS NOT TRUE AND "deleted_at" IS NULL AND "kind" IS DISTINCT FROM 3 AND ` +
		`"published_at" IS NOT NULL AND "status" IS DISTINCT FROM 'x'`
	if diff := cmp.Diff(want, file.Unique[0].Predicate().String()); diff != "" {
		t.Errorf("predicate (-want +got):\n%s", diff)
	}
}

// TestDisagreements: two rules about one table contradict each other when rows
// that break one always also break the other, and only then.
func TestDisagreements(t *testing.T) {
	t.Parallel()
	const answer = "on_conflict: return_existing"
	for _, tt := range []struct {
		name, first, second string
		wrong               bool
	}{
		{"same terms", "fields: [n]", "fields: [n], " + answer, true},
		{"same terms in another order", "fields: [a, n]", "fields: [n, a], " + answer, true},
		{"stricter first", "fields: [n]", "fields: [n, year(d)], " + answer, true},
		{"stricter second", "fields: [n, year(d)]", "fields: [n], " + answer, true},
		{"stricter, same answer", "fields: [n]", "fields: [n, year(d)]", false},
		{"other terms", "fields: [a]", "fields: [n], " + answer, false},
		{"column and expression", "fields: [a]", "fields: [lower(a)], " + answer, false},
		{"terms that overlap", "fields: [a, b]", "fields: [b, c], " + answer, false},
		{"stricter only about rows that count", "fields: [n], except: [gone is set]", "fields: [n, year(d)], " + answer, false},
		{"stricter about the same rows", "fields: [n], except: [gone is set]", "fields: [n, year(d)], except: [old is set, gone is set], " + answer, true},
		{"stricter only without NULL", "fields: [n]", "fields: [n, year(d)], nulls: same, " + answer, false},
		{"stricter with NULL", "fields: [n], nulls: same", "fields: [n, year(d)], nulls: same, " + answer, true},
		{"NULL alone tells them apart", "fields: [n]", "fields: [n], nulls: same", false},
		{"the same raw words", `fields: [{postgresql: "md5(n)", columns: [n]}]`, `fields: [{postgresql: "md5(n)", columns: [n]}], ` + answer, true},
		{"other raw words", `fields: [{postgresql: "md5(n)", columns: [n]}]`, `fields: [{sqlite: "hex(n)", columns: [n]}], ` + answer, false},
	} {
		const rule = "  - {name: %s, says: A rule., table: t, scope: global, %s}\n"
		_, err := rules.Parse("rules.yaml", []byte("version: 1\nunique:\n"+fmt.Sprintf(rule, "first", tt.first)+fmt.Sprintf(rule, "second", tt.second)))
		if (err != nil) != tt.wrong || err != nil && !strings.Contains(err.Error(), "rules.yaml:4:") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
