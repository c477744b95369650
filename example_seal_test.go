package semel_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
)

// A guard with a key keeps outcomes encrypted, and reveals a record that was
// read from the store itself, such as by a console.
func ExampleGuard_Reveal() {
	ctx := context.Background()
	store := memstore.New(nil)
	defer store.Close()
	guard, err := semel.New(store, &semel.Options{
		OutcomeKeys: []semel.OutcomeKey{{ID: "2026-11", Key: [32]byte{ /* of crypto/rand */ 1}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close()
	key := semel.Key{Scope: "tenant-7 POST /invoices", Name: "8e03978e"}
	if _, err := semel.Do(ctx, guard, key, semel.FingerprintOf("12.50"), func(context.Context) (string, error) {
		return "invoice 17", nil
	}); err != nil {
		fmt.Println(err)
	}
	page, err := store.List(ctx, semel.ListParams{Outcomes: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	id, encrypted := semel.SealedWith(page.Records[0].Outcome)
	fmt.Println(encrypted, id, guard.Seals())
	fmt.Println(guard.Reveal(&page.Records[0]), string(page.Records[0].Outcome))
	// Output:
	// true 2026-11 true
	// <nil> {"semel":1,"value":"invoice 17"}
}

// Without the key the outcome stays closed, and the intent executed.
func ExampleSealedWith() {
	ctx := context.Background()
	store := memstore.New(nil)
	defer store.Close()
	key := semel.Key{Scope: "tenant-7 POST /invoices", Name: "8e03978e"}
	for _, keys := range [][]semel.OutcomeKey{{{ID: "lost", Key: [32]byte{1}}}, nil} {
		guard, err := semel.New(store, &semel.Options{OutcomeKeys: keys})
		if err != nil {
			fmt.Println(err)
			return
		}
		_, err = semel.Do(ctx, guard, key, semel.FingerprintOf("12.50"), func(context.Context) (string, error) {
			fmt.Println("executed")
			return "invoice 17", nil
		})
		fmt.Println(errors.Is(err, semel.ErrUnreadable))
		_ = guard.Close()
	}
	rec, err := store.Lookup(ctx, key.Digest())
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(semel.SealedWith(rec.Outcome))
	// Output:
	// executed
	// false
	// true
	// lost true
}

func ExampleOutcomeKey_Validate() {
	key := semel.OutcomeKey{ID: "2026-11"}
	fmt.Println(key.Validate())
	key.Key = [32]byte{ /* of crypto/rand */ 1}
	fmt.Println(key.Validate(), key)
	// Output:
	// semel: outcome key "2026-11" is all zeroes (make one with: semel keys new)
	// <nil> outcome key 2026-11
}

// While a secret is being replaced, transactions are refused at the door and not
// one by one.
func ExampleGuard_CheckTx() {
	store := memstore.New(nil)
	defer store.Close()
	guard, err := semel.New(store, &semel.Options{
		Secrets: [][]byte{[]byte("the new secret of this store"), []byte("the one that it replaces")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close()
	fmt.Println(guard.CheckTx() != nil)
	// Output: true
}

// Work can ask whether it runs under an intent, and need not claim it again.
func ExampleGuard_Holds() {
	store := memstore.New(nil)
	defer store.Close()
	guard, err := semel.New(store, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close()
	key := semel.Key{Scope: "tenant-7", Name: "a"}
	_, err = semel.Do(context.Background(), guard, key, semel.FingerprintOf("report of 2026"), func(ctx context.Context) (int, error) {
		fmt.Println(guard.Holds(ctx, key), guard.Holds(ctx, semel.Key{Scope: "tenant-7", Name: "b"}))
		return 0, nil
	})
	fmt.Println(err)
	// Output:
	// true false
	// <nil>
}
