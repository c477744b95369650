package natsstore_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/natsstore"
	"github.com/semel-dev/semel/store/storetest"
)

// module has the server that the tests start: the one that Debian has is too old.
const module = "../../tools/nats-server"

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, start(t).harness(t))
}

func TestStoreUnderFaults(t *testing.T) {
	t.Parallel()
	storetest.RunFaults(t, start(t).harness(t))
}

// Other tests are given the time; these ask the server for it, as outside of tests.
func TestStoreByTheServersClock(t *testing.T) {
	t.Parallel()
	h := start(t).runningHarness(t)
	storetest.Run(t, func(tb testing.TB) *storetest.Instance {
		tb.Helper()
		if strings.HasSuffix(tb.Name(), "/model/sequences") {
			tb.Skip("it is about millisecond after millisecond")
		}
		return h(tb)
	})
}

// Everything that holds without shared batches holds with them.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	storetest.Run(t, claimtest.Grouped(start(t).harness(t)))
}

// place is a server of a test.
type place struct {
	addr    string
	streams *atomic.Int64

	replicas int // of its streams; 0 is 1
}

func placeAt(addr string) place { return place{addr: addr, streams: &atomic.Int64{}} }

// serverOptions are those of a server that syncs what it acknowledges.
var serverOptions = testserver.NATSOptions{Module: module, JetStream: "sync_interval: always", Conf: "max_payload: 8MB"}

func startServer(tb testing.TB) *testserver.NATSServer {
	tb.Helper()
	return testserver.StartNATS(tb, &serverOptions)
}

func start(tb testing.TB) place {
	tb.Helper()
	return placeAt(startServer(tb).Addr())
}

// dsn names a stream of its own.
func (p place) dsn() string {
	n := p.streams.Add(1)
	return fmt.Sprintf("nats://%s?sync=always&stream=S%d&subject=s%d", p.addr, n, n)
}

// harness gives every instance a stream of its own, and a clock that is moved by hand.
func (p place) harness(tb testing.TB) storetest.Harness {
	tb.Helper()
	instance := p.sharing(tb)
	return func(tb testing.TB) *storetest.Instance {
		tb.Helper()
		clock := &claimtest.Clock{}
		inst := instance(tb, natsstore.WithClock(natsstore.Options{}, clock.Now))
		inst.Advance = clock.Advance
		return inst
	}
}

// runningHarness has the server's clock, put forward.
func (p place) runningHarness(tb testing.TB) storetest.Harness {
	tb.Helper()
	instance := p.sharing(tb)
	return func(tb testing.TB) *storetest.Instance {
		tb.Helper()
		var ahead atomic.Int64
		inst := instance(tb, natsstore.WithOffset(natsstore.Options{}, func() time.Duration { return time.Duration(ahead.Load()) }))
		inst.Advance, inst.Running = func(d time.Duration) { ahead.Add(int64(d)) }, true
		return inst
	}
}

// sharing makes instances that share a connection.
func (p place) sharing(tb testing.TB) func(testing.TB, *natsstore.Options) *storetest.Instance {
	tb.Helper()
	nc, err := nats.Connect("nats://" + p.addr)
	claimtest.NoError(tb, err)
	tb.Cleanup(nc.Close)
	return func(tb testing.TB, o *natsstore.Options) *storetest.Instance {
		tb.Helper()
		n := p.streams.Add(1)
		o.Sync, o.Replicas = natsstore.SyncAlways, p.replicas
		o.Stream, o.Subject = fmt.Sprint("S", n), fmt.Sprint("s", n)
		return claimtest.Instance(tb, func(tb testing.TB) semel.Store {
			tb.Helper()
			s, err := natsstore.New(nc, o)
			claimtest.NoError(tb, err)
			claimtest.NoError(tb, s.Check(tb.Context()))
			return s
		})
	}
}
