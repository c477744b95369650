package redisstore_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.Children(nil, processes("single", single), processes("cluster", cluster))
	claimtest.Limit(4, 20)
	goleak.VerifyTestMain(m,
		// The client of a cluster lets the connections that it has replaced
		// drain for five seconds, and asks for the slots again after one.
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func2"))
}
