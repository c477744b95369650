package plan_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/schema/internal/plan"
)

// What is missing in a database, as SQL.
func ExampleMake() {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection would have a memory of its own
	ctx := context.Background()
	if _, err := db.ExecContext(ctx, "CREATE TABLE invoices (id INTEGER PRIMARY KEY, tenant_id INTEGER NOT NULL, number TEXT NOT NULL, deleted_at TEXT)"); err != nil {
		log.Fatal(err)
	}
	file, err := rules.Parse("semel.yaml", []byte(`version: 1
unique:
  - name: invoice_number
    says: One invoice number per tenant.
    table: invoices
    scope: [tenant_id]
    fields: [number]
    except: [deleted_at is set]
`))
	if err != nil {
		log.Fatal(err)
	}
	p, err := plan.Make(ctx, db, dialect.SQLite, file, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, step := range p.Steps {
		fmt.Println(step.Up[0].SQL)
		fmt.Println(step.Down[0].SQL)
	}
	// Output:
	// CREATE UNIQUE INDEX "invoice_number" ON "invoices" ("tenant_id", "number") WHERE "deleted_at" IS NULL
	// DROP INDEX "invoice_number"
}
