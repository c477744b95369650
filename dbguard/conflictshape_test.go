package dbguard_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/rules"
)

// The errors of drivers and servers that are not at hand here, as their sources
// have them.
type (
	// pqError is lib/pq's Error.
	pqError struct{ Code, Message, Schema, Table, Constraint string }
	// mysqlError is go-sql-driver/mysql's MySQLError.
	mysqlError struct {
		Number  uint16
		Message string
	}
	errNo int
	// mattnError is mattn/go-sqlite3's Error, a value.
	mattnError struct {
		Code, ExtendedCode errNo
		text               string
	}
	extendedCode uint16
	// ncrucesError is ncruces/go-sqlite3's Error.
	ncrucesError struct {
		code extendedCode
		text string
	}
)

func (e *pqError) Error() string                   { return e.Message }
func (e *pqError) SQLState() string                { return e.Code }
func (e *mysqlError) Error() string                { return e.Message }
func (e mattnError) Error() string                 { return e.text }
func (e *ncrucesError) Error() string              { return "sqlite3: constraint failed: " + e.text }
func (e *ncrucesError) ExtendedCode() extendedCode { return e.code }
func duplicate(format string, args ...any) error {
	return &mysqlError{1062, fmt.Sprintf(format, args...)}
}
func mattn(code errNo, text string) error          { return mattnError{19, code, text} }
func ncruces(code extendedCode, text string) error { return &ncrucesError{code, text} }
func pq(code, schema, table, constraint string) error {
	return fmt.Errorf("insert: %w", &pqError{code, "duplicate", schema, table, constraint})
}

func TestTranslateShapes(t *testing.T) {
	t.Parallel()
	const long = "1-cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
	list := append(invoiceRules(), rules.Unique{
		Name: "billed", Table: "billing.bills", Index: "key", Fields: []rules.Term{column("number")},
	})
	tests := []struct {
		name string
		err  error
		want string // rule, or index without one
	}{
		{"lib/pq", pq("23505", "public", "invoices", "invoice_number"), "invoice_number"},
		{"lib/pq, another table", pq("23505", "public", "drafts", "invoice_number"), "index invoice_number"},
		{"schema", pq("23505", "billing", "bills", "key"), "billed"},
		{"another schema", pq("23505", "archive", "bills", "key"), "index key"},
		{"lib/pq, foreign key", pq("23503", "public", "invoices", "invoice_number"), ""},
		{"MySQL 8", duplicate("Duplicate entry '%s' for key 'invoices.invoice_number'", long), "invoice_number"},
		{"MySQL 8, quotes", duplicate("Duplicate entry '1' for key 'invoices.it's an e-mail'"), "invoice_email"},
		{"MariaDB, quotes", duplicate("Duplicate entry 'for key 'x' for key 'it's an e-mail'"), "invoice_email"},
		{"German", duplicate("Doppelter Eintrag '1-a' für Schlüssel 'it's an e-mail'"), "invoice_email"},
		{"Japanese", duplicate("'1-a' は索引 'invoices.invoice_number' で重複しています。"), "invoice_number"},
		{"a value that says more, in German", duplicate("Doppelter Eintrag 'for key 'ada@example.com' für Schlüssel 'PRIMARY'"), "index PRIMARY"},
		{"named in a value only", duplicate("Duplicate entry 'for key 'invoices.invoice_number' for key 'PRIMARY'"), "index PRIMARY"},
		{"two rules", duplicate("Duplicate entry '1' for key 'invoice_number'"), "index invoice_number"},
		{"MySQL, no name", duplicate("Duplicate entry"), "index "},
		{"MySQL, foreign key", &mysqlError{1452, "Cannot add or update a child row 'for key 'invoices.invoice_number'"}, ""},
		{"mattn", mattn(2067, "UNIQUE constraint failed: invoices.tenant_id, invoices.number"), "invoice_number"},
		{"mattn, order", mattn(2067, "UNIQUE constraint failed: invoices.number, invoices.tenant_id"), "invoice_number"},
		{"mattn, primary key", mattn(1555, "UNIQUE constraint failed: invoices.id"), "columns id"},
		{"mattn, not null", mattn(1299, "NOT NULL constraint failed: invoices.number"), ""},
		{"ncruces", ncruces(2067, "UNIQUE constraint failed: index 'it''s an e-mail'"), "invoice_email"},
		{"ncruces, unquoted", ncruces(2067, "UNIQUE constraint failed: index 'it's an e-mail'"), "invoice_email"},
		{"ncruces, rowid", ncruces(2579, "UNIQUE constraint failed: others.number"), "other_number"},
		{"ncruces, trigger", ncruces(1811, "UNIQUE constraint failed: others.number"), ""},
		{"joined", errors.Join(errors.New("rollback"), pq("23P01", "", "invoices", "invoice_number")), "invoice_number"},
		{"something else", errors.New("UNIQUE constraint failed: others.number"), ""},
	}
	translator := dbguard.NewTranslator(list)
	for _, test := range tests {
		got := ""
		if c, ok := errors.AsType[*dbguard.Conflict](translator.Translate(test.err)); ok {
			switch {
			case c.Rule != nil:
				got = c.Rule.Name
			case c.Index != "" || len(c.Fields) == 0:
				got = "index " + c.Index
			default:
				got = "columns " + c.Fields[0]
			}
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
