package draft_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/schema/internal/draft"
)

// The rules that a database enforces already.
func ExampleMake() {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection would have a memory of its own
	ctx := context.Background()
	for _, statement := range []string{
		"CREATE TABLE invoices (id INTEGER PRIMARY KEY, tenant_id INTEGER NOT NULL, number TEXT NOT NULL, deleted_at TEXT)",
		"CREATE UNIQUE INDEX invoice_number ON invoices (tenant_id, number) WHERE deleted_at IS NULL",
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			log.Fatal(err)
		}
	}
	made, err := draft.Make(ctx, db, dialect.SQLite)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(made.Text))
	// Output:
	// # What is the same thing, and must not be there twice. Drafted by semel rules init
	// # from what sqlite enforces; the sentences are guesses: better them.
	// # How to go on: semel rules verify, semel rules plan, semel rules doc.
	// version: 1
	// unique:
	//   - name: invoice_number
	//     says: One number per tenant.
	//     table: invoices
	//     scope: [tenant_id]
	//     fields: [number]
	//     except: [deleted_at is set]
}
