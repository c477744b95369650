package mysqlstore_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.Children(nil, processes())
	// Tests wait for the server rather than for a processor, and the rule about
	// sequences of verbs runs in several variants; -parallel and -rapid.checks
	// override this.
	for name, value := range map[string]string{"test.parallel": "4", "rapid.checks": "10"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}
