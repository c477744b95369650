package semel_test

import (
	"context"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/store/memstore"
)

// A database in memory plays the one that holds the business rows; pgstore.Do,
// mysqlstore.Do and sqlitetx.Do are DoTx on a real one.
func ExampleDoTx() {
	ctx := context.Background()
	db := memdb.New(memstore.New(nil), nil)
	defer db.Close()
	g, err := semel.New(db, nil)
	if err != nil {
		panic(err)
	}
	defer g.Close()

	key := semel.Key{Scope: "tenant-7 create order", Name: "8e03978e"}
	asked := semel.FingerprintOf("book")
	for _, full := range []bool{true, false, false} { // the first attempt fails, and leaves nothing
		answer, err := semel.DoTx(ctx, g, db, key, asked, func(ctx context.Context) (string, error) {
			if err := db.Insert(ctx, "book"); err != nil {
				return "", err
			}
			if full {
				return "", fmt.Errorf("the van is full")
			}
			return "ordered", nil
		})
		fmt.Printf("%q %v, %d row\n", answer, err, db.Count("book"))
	}
	// Output:
	// "" the van is full, 0 row
	// "ordered" <nil>, 1 row
	// "ordered" <nil>, 1 row
}

// A door claims for itself, and ends the claim as its answer says.
func ExampleGuard_BeginTx() {
	ctx := context.Background()
	db := memdb.New(memstore.New(nil), nil)
	defer db.Close()
	g, err := semel.New(db, nil)
	if err != nil {
		panic(err)
	}
	defer g.Close()

	key := semel.Key{Scope: "tenant-7 create order", Name: "8e03978e"}
	for range 2 {
		claim, rec, err := g.BeginTx(ctx, db, key, semel.FingerprintOf("book"))
		switch {
		case err != nil:
			panic(err)
		case rec != nil:
			fmt.Printf("replay: %s\n", rec.Outcome)
			continue
		}
		if err := db.Insert(claim.Context(), "book"); err != nil {
			fmt.Println(claim.Rollback(err.Error()))
			continue
		}
		fmt.Println(db.Count("book"), "row before")
		fmt.Println(claim.Complete([]byte("ordered"), nil))
		fmt.Println(db.Count("book"), "row after the commit")
	}
	// Output:
	// 0 row before
	// <nil>
	// 1 row after the commit
	// replay: ordered
}
