package mysqlstore_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel/store/storetest"
)

// sequences counts the random ones of each variant.
const sequences = "10"

func TestMain(m *testing.M) {
	storetest.Children(nil, processes())
	// The rule about sequences of verbs runs in several variants here, over a
	// real server; -rapid.checks asks for more.
	if err := flag.Set("rapid.checks", sequences); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
