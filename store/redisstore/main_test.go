package redisstore_test

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.Children(nil, processes("single", single), processes("cluster", cluster))
	// Tests wait for the server rather than for a processor; -parallel and
	// -rapid.checks override this.
	for name, value := range map[string]string{"test.parallel": "4", "rapid.checks": sequences()} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m,
		// The client of a cluster lets the connections that it has replaced
		// drain for five seconds, and asks for the slots again after one.
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func2"))
}

// sequences counts the random ones of each variant.
func sequences() string {
	if os.Getenv("SEMEL_LONG") != "" {
		return "100"
	}
	return "20"
}
