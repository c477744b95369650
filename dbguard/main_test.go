package dbguard_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel/internal/claimtest"
)

var noError = claimtest.NoError

// TestMain lets more tests run at once than there are processors: most of their
// time they wait for a database.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
