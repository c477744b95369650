package semel_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
)

func ExampleDo() {
	store := memstore.New(nil)
	defer store.Close()
	g, err := semel.New(store, nil)
	if err != nil {
		panic(err)
	}
	defer g.Close()

	key := semel.Key{Scope: "tenant-7 create invoice", Name: "8e03978e-40d5-43dd-bc93-6894a57f9324"}
	asked := semel.FingerprintOf("customer=4", "amount=1250")
	next := 1
	for range 3 { // the client never saw the first two answers
		id, err := semel.Do(context.Background(), g, key, asked, func(context.Context) (int, error) {
			id := next
			next++
			return id, nil
		})
		fmt.Println("invoice", id, err)
	}
	// Output:
	// invoice 1 <nil>
	// invoice 1 <nil>
	// invoice 1 <nil>
}

func ExampleGuard_Begin() {
	store := memstore.New(nil)
	defer store.Close()
	g, err := semel.New(store, nil)
	if err != nil {
		panic(err)
	}
	defer g.Close()

	ctx := context.Background()
	key := semel.Key{Scope: "tenant-7 create invoice", Name: "k1"}
	for _, amount := range []string{"1250", "1250", "9900"} {
		claim, rec, err := g.Begin(ctx, key, semel.FingerprintOf(amount))
		switch {
		case err != nil:
			fmt.Println("refused:", errors.Is(err, semel.ErrMismatch))
		case rec != nil:
			fmt.Printf("replay: %s\n", rec.Outcome)
		default:
			// … create the invoice, with claim.Context() …
			if err := claim.Complete([]byte("invoice 1"), nil); err != nil {
				panic(err)
			}
			fmt.Println("executed")
		}
	}
	// Output:
	// executed
	// replay: invoice 1
	// refused: true
}

func ExampleParseKey() {
	for _, wire := range []string{`"8e03978e"`, `8e03978e`, `"8e03978e";v=1`} {
		key, err := semel.ParseKey("tenant-7 create invoice", wire)
		fmt.Println(key.Name, err)
	}
	_, err := semel.ParseKey("tenant-7 create invoice", `"a", "b"`)
	fmt.Println(errors.Is(err, semel.ErrKeyInvalid))
	// Output:
	// 8e03978e <nil>
	// 8e03978e <nil>
	// 8e03978e <nil>
	// true
}
