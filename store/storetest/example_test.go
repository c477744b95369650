package storetest_test

import (
	"fmt"
	"strings"

	"github.com/semel-dev/semel/store/storetest"
)

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
