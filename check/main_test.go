package check_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// atOnce is how many tests run at once unless -parallel says otherwise. They
// spend most of their time waiting for services that are slow on purpose.
const atOnce = "8"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
