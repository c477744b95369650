package storetest_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

// The test file of a store: a harness that opens a fresh one with a clock that
// the suite moves, and two tests.
func ExampleRun() { //nolint:testableexamples // a suite runs in a test.
	harness := func(testing.TB) *storetest.Instance {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		var mu sync.Mutex // guards now
		return &storetest.Instance{
			Store: memstore.New(&memstore.Options{Now: func() time.Time {
				mu.Lock()
				defer mu.Unlock()
				return now
			}}),
			Advance: func(d time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				now = now.Add(d)
			},
		}
	}
	TestStore := func(t *testing.T) { storetest.Run(t, harness) }                  //nolint:thelper // a test.
	TestStoreUnderFaults := func(t *testing.T) { storetest.RunFaults(t, harness) } //nolint:thelper // a test.
	_, _ = TestStore, TestStoreUnderFaults
}

// Every rule has a name, a promise and a sentence.
func ExampleRules() {
	for _, rule := range storetest.Rules() {
		if strings.HasPrefix(rule.Name, "claim/takeover-l") {
			fmt.Printf("%s (promise %d): %s\n", rule.Name, rule.Promise, rule.Says)
		}
	}
	// Output:
	// claim/takeover-lapsed (promise 1): a lapsed claim can be taken over by its fence, with a greater one
	// claim/takeover-live (promise 1): a live claim cannot be taken over
}
