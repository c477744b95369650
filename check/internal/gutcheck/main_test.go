package gutcheck_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// atOnce limits the browsers at once unless -parallel sets another limit.
const atOnce = "2"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
