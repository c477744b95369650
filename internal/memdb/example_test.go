package memdb_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/store/memstore"
)

// The reply to the commit is lost. The guard asks the database, and finds that
// it took place.
func ExampleNew() {
	ctx := context.Background()
	lost := errors.New("connection reset")
	db := memdb.New(memstore.New(nil), &memdb.Options{Fault: func(p memdb.Point) error {
		if p == memdb.Committed {
			return lost
		}
		return nil
	}})
	defer db.Close()
	guard, err := semel.New(db, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close()

	key := semel.Key{Scope: semel.ScopeGlobal, Name: "order 7"}
	for range 2 {
		answer, err := semel.DoTx(ctx, guard, db, key, semel.FingerprintOf("book"),
			func(ctx context.Context) (string, error) { return "ordered", db.Insert(ctx, "book") })
		fmt.Println(answer, err, db.Count("book"))
	}
	// Output:
	// ordered <nil> 1
	// ordered <nil> 1
}

// The rows of a transaction are visible when it has committed, or never.
func ExampleDB_Insert() {
	ctx := context.Background()
	db := memdb.New(memstore.New(nil), nil)
	defer db.Close()
	guard, err := semel.New(db, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close()

	claim, _, err := guard.BeginTx(ctx, db, semel.Key{Scope: semel.ScopeGlobal, Name: "order 7"}, semel.FingerprintOf("book"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(db.Insert(claim.Context(), "book"), db.Count("book"))
	fmt.Println(claim.Complete([]byte("ordered"), nil), db.Count("book"))
	// Output:
	// <nil> 0
	// <nil> 1
}
