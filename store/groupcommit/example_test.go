package groupcommit_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/groupcommit"
	"github.com/semel-dev/semel/store/memstore"
)

// A store that takes batches, such as one in a database, is wrapped before it
// is given to a guard. Callers that come at the same time then share commits.
func ExampleNew() {
	ctx := context.Background()
	store, err := groupcommit.New(newBatcher(memstore.New(nil)), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	guard, err := semel.New(store, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close()

	var wg sync.WaitGroup
	answers := make([]string, 8)
	for i := range answers {
		wg.Go(func() {
			key := semel.Key{Scope: "tenant 7", Name: fmt.Sprint("order ", i)}
			answers[i], _ = semel.Do(ctx, guard, key, semel.FingerprintOf("book"),
				func(context.Context) (string, error) { return fmt.Sprint("ordered ", i), nil })
		})
	}
	wg.Wait()
	fmt.Println(answers[0], answers[7])
	// Output:
	// ordered 0 ordered 7
}
