package check_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// atOnce limits the tests that run at once unless -parallel sets another limit. They mostly wait for services that are
// slow on purpose.
const atOnce = "8"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
