package rules_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/semel-dev/semel/dialect"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/rules/expression"
)

// TestUnique: what a file says of each rule is what the rule holds.
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
			Nulls:  rules.NullsForbidden,
			Except: []rules.Exception{{Column: "deleted_at"}, {Column: "status", Is: rules.IsEquals, Value: "cancelled"}},
			Show:   []string{"number"},
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
			Fields: []rules.Term{term("lower(trim(email))", "email")}, Nulls: rules.NullsForbidden, OnConflict: rules.ReturnExisting,
			Except: []rules.Exception{{Column: "merged_into"}, {Column: "archived", Is: rules.IsTrue}},
		},
		{
			Name: "payment", Says: "One payment per id that the other system gave.", Table: "payments", Index: "payment",
			Scope: []rules.Term{column("source"), column("external_id")}, Fields: []rules.Term{term("coalesce(part, 0)", "part")},
			Nulls: rules.NullsForbidden, OnConflict: rules.Upsert, MayChange: []string{"note", "seen_at"}, MustNotChange: []string{"amount", "currency"},
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
