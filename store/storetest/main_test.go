package storetest_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel/internal/claimtest"
)

// TestMain keeps rapid from writing the intended failures of broken stores into
// the source tree, and from shrinking them for long.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.shrinktime": "200ms"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	claimtest.Limit(0, 25)
	goleak.VerifyTestMain(m)
}
