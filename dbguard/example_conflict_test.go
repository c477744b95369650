package dbguard_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	_ "modernc.org/sqlite" // opens SQLite

	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/rules"
)

// rulesFile says what is unique in the examples.
const rulesFile = `
version: 1
unique:
  - name: customer_email
    says: One customer per e-mail address and tenant.
    table: customers
    scope: [tenant]
    fields: [lower(trim(email))]
    on_conflict: return_existing
  - name: invoice_number
    says: One invoice number per tenant.
    table: invoices
    scope: [tenant]
    fields: [number]
    on_conflict: upsert
    may_change: [note]
    must_not_change: [amount]
    show: [number]
    messages:
      en: Invoice {number} is there already.
      sv: Faktura {number} finns redan.
`

// office opens a database in memory that keeps the rules.
func office() (*sql.DB, []rules.Unique) {
	file, err := rules.Parse("semel.yaml", []byte(rulesFile))
	if err != nil {
		panic(err)
	}
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		panic(err)
	}
	db.SetMaxOpenConns(1) // because it lies in memory
	for _, statement := range []string{
		"CREATE TABLE customers (id INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, email TEXT NOT NULL)",
		"CREATE UNIQUE INDEX customer_email ON customers (tenant, lower(trim(email)))",
		"CREATE TABLE invoices (id INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, number TEXT NOT NULL, amount INTEGER, note TEXT)",
		"CREATE UNIQUE INDEX invoice_number ON invoices (tenant, number)",
	} {
		if _, err := db.ExecContext(context.Background(), statement); err != nil {
			panic(err)
		}
	}
	return db, file.Unique
}

func ExampleTranslator_Translate() {
	db, list := office()
	defer db.Close()
	translator := dbguard.NewTranslator(list)
	for range 2 {
		_, err := db.ExecContext(context.Background(), "INSERT INTO invoices (tenant, number) VALUES (1, 'F-7')")
		err = translator.Translate(err)
		if conflict, ok := errors.AsType[*dbguard.Conflict](err); ok {
			fmt.Println(conflict.Message("sv", map[string]string{"number": "F-7"}))
		}
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// Faktura F-7 finns redan.
	// dbguard: the row exists already: rule invoice_number (number)
}

// Resolve asks PostgreSQL which rule the index of a partition belongs to. On
// SQLite there is nothing to ask.
func ExampleTranslator_Resolve() {
	db, list := office()
	defer db.Close()
	ctx := context.Background()
	_, err := db.ExecContext(ctx, "INSERT INTO invoices (tenant, number) VALUES (1, 'F-7'), (1, 'F-7')")
	err = dbguard.NewTranslator(list).Resolve(ctx, dbguard.SQL(dbguard.SQLite, db), err)
	_, conflict := errors.AsType[*dbguard.Conflict](err)
	fmt.Println(conflict, err)
	// Output:
	// true dbguard: the row exists already: rule invoice_number (number)
}

func ExampleWriteConflict() {
	db, list := office()
	defer db.Close()
	translator := dbguard.NewTranslator(list)
	create := func(w http.ResponseWriter, r *http.Request) {
		number := r.FormValue("number")
		_, err := db.ExecContext(r.Context(), "INSERT INTO invoices (tenant, number) VALUES (1, ?)", number)
		sent := map[string]string{"number": number}
		switch err = translator.Translate(err); {
		case dbguard.WriteConflict(w, r, err, &dbguard.ConflictOptions{Sent: sent}):
		case err != nil:
			http.Error(w, "something went wrong", http.StatusInternalServerError)
		default:
			w.WriteHeader(http.StatusCreated)
		}
	}
	for range 2 {
		w := httptest.NewRecorder()
		create(w, httptest.NewRequest(http.MethodPost, "/invoices?number=F-7", nil)) //nolint:noctx // an example.
		fmt.Println(strings.TrimSpace(fmt.Sprint(w.Code, " ", w.Body)))
	}
	// Output:
	// 201
	// 409 {"detail":"Invoice F-7 is there already.","fields":["number"],"retryable":false,"rule":"invoice_number","status":409,"title":"This already exists","type":"urn:semel:problem:already-exists"}
}

func ExampleSavepoint() {
	db, list := office()
	defer db.Close()
	translator := dbguard.NewTranslator(list)
	err := dbguard.SQLDatabase(dbguard.SQLite, db).InTx(context.Background(), func(ctx context.Context, tx dbguard.Session) error {
		for range 2 {
			err := dbguard.Savepoint(ctx, tx, func(ctx context.Context, s dbguard.Session) error {
				_, err := s.Exec(ctx, "INSERT INTO invoices (tenant, number) VALUES (1, 'F-7')")
				return err
			})
			fmt.Println(translator.Translate(err))
		}
		return nil // the transaction goes on, and commits the first
	})
	fmt.Println(err)
	// Output:
	// <nil>
	// dbguard: the row exists already: rule invoice_number (number)
	// <nil>
}
