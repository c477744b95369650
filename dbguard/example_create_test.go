package dbguard_test

import (
	"context"
	"fmt"

	"github.com/semel-dev/semel/dbguard"
)

func ExampleCreateOrReuse() {
	db, list := office()
	defer db.Close()
	for _, email := range []string{"Ada@example.test", " ada@EXAMPLE.test"} {
		id, created, err := dbguard.CreateOrReuse(context.Background(), dbguard.SQL(dbguard.SQLite, db), &dbguard.Insert{
			Table:     "customers",
			Columns:   []string{"tenant", "email"},
			Values:    []any{1, email},
			Unique:    dbguard.Target{Rule: &list[0]},
			Returning: []string{"id"},
		}, func(rows dbguard.Rows) (id int64, err error) { return id, rows.Scan(&id) })
		fmt.Println(id, created, err)
	}
	// Output:
	// 1 true <nil>
	// 1 false <nil>
}

func ExampleUpsert() {
	db, list := office()
	defer db.Close()
	for _, invoice := range []struct {
		amount int
		note   string
	}{{150, "first"}, {150, "first"}, {150, "second"}, {100, "third"}} {
		note, change, err := dbguard.Upsert(context.Background(), dbguard.SQL(dbguard.SQLite, db), &dbguard.Upsertion{
			Insert: dbguard.Insert{
				Table:     "invoices",
				Columns:   []string{"tenant", "number", "amount", "note"},
				Values:    []any{1, "F-7", invoice.amount, invoice.note},
				Unique:    dbguard.Target{Rule: &list[1]}, // which says what may change
				Returning: []string{"note"},
			},
		}, func(rows dbguard.Rows) (note string, err error) { return note, rows.Scan(&note) })
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(note, change)
	}
	// Output:
	// first created
	// first unchanged
	// second updated
	// dbguard: the row exists already, with other values that must not change: invoices (amount)
}
