package natsstore_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/natsstore"
	"github.com/semel-dev/semel/store/storetest"
)

func (p place) processes() storetest.Processes {
	all := processes("stream")
	all.Place = func(testing.TB) string { return p.dsn() }
	return all
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	storetest.RunProcesses(t, start(t).processes())
}

// Promises 1 and 2: with sync_interval always, what was acknowledged survives when the
// server is killed at any instant.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	p := placeAt(server.Addr()).processes()
	p.Strike = func(testing.TB) {
		server.Kill()
		server.Start()
	}
	storetest.RunProcesses(t, p)
}

// Promises 1 and 3, through connections that break before the server hears, after it
// did, and in the middle of an answer.
func TestBreakingConnections(t *testing.T) {
	t.Parallel()
	proxy := testserver.NewProxy(t, startServer(t).Addr())
	p := placeAt(proxy.Addr()).processes()
	p.Disturb = func(testing.TB, string) func() { return proxy.Disturb() }
	storetest.RunProcesses(t, p)
}

// A server that hangs delays no caller longer than the context says.
func TestHangingServer(t *testing.T) {
	t.Parallel()
	proxy := testserver.NewProxy(t, startServer(t).Addr())
	s, err := natsstore.Open(t.Context(), placeAt(proxy.Addr()).dsn(), nil)
	claimtest.NoError(t, err)
	claimtest.Closes(t, s)
	claimtest.Wins(t, s, claimtest.Params("k"))
	proxy.Stall()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, _, err = s.Claim(ctx, claimtest.Params("l"))
	claimtest.WantErr(t, "claim at a server that hangs: ", err, context.DeadlineExceeded)
	proxy.Clear()
	testserver.Eventually(t, "it goes on", func() bool {
		_, _, err := s.Claim(t.Context(), claimtest.Params("l"))
		return err == nil
	})
}

// The contract holds where three servers keep the stream.
func TestStoreInCluster(t *testing.T) {
	t.Parallel()
	nodes := testserver.StartNATSCluster(t, 3, &serverOptions)
	leads(t, inCluster(nodes), nodes)
	p := placeAt(nodes[0].Addr())
	p.replicas = len(nodes)
	storetest.Run(t, p.harness(t))
}

// inCluster names a stream that all nodes keep.
func inCluster(nodes []*testserver.NATSServer) (dsn string) {
	dsn = placeAt(nodes[0].Addr()).dsn() + "&replicas=3"
	for _, node := range nodes[1:] {
		dsn += "&addr=" + node.Addr()
	}
	return dsn
}

// A cluster of three whose leader is killed again and again loses nothing that it
// acknowledged, and gives each intent to one caller (promises 1 and 2).
func TestKilledLeader(t *testing.T) {
	t.Parallel()
	nodes := testserver.StartNATSCluster(t, 3, &serverOptions)
	dsn := inCluster(nodes)
	p := processes("stream")
	p.Place = func(testing.TB) string { return dsn }
	p.Strike = func(tb testing.TB) {
		tb.Helper()
		leader := nodes[leads(tb, dsn, nodes)]
		leader.Kill()
		leader.Start()
		leads(tb, dsn, nodes)
	}
	storetest.RunProcesses(t, p)
}

// leads returns the index of the server that leads the stream, when there is one.
func leads(tb testing.TB, dsn string, nodes []*testserver.NATSServer) (index int) {
	tb.Helper()
	testserver.Eventually(tb, "the stream has a leader", func() bool {
		s, err := natsstore.Open(context.WithoutCancel(tb.Context()), dsn, nil)
		if err != nil {
			return false
		}
		defer func() { _ = s.Close() }()
		name, err := natsstore.Leader(s)
		index = slices.IndexFunc(nodes, func(n *testserver.NATSServer) bool { return n.Name() == name })
		return err == nil && index >= 0
	})
	return index
}

// A claim that another process has renewed is settled, although this one remembers it as
// expired.
func TestClaimRenewedElsewhere(t *testing.T) {
	t.Parallel()
	p := start(t)
	clock := &claimtest.Clock{}
	dsn := p.dsn()
	here := open(t, dsn, natsstore.WithClock(natsstore.Options{}, clock.Now))
	there := open(t, dsn, natsstore.WithClock(natsstore.Options{}, clock.Now))
	rec := claimtest.Wins(t, here, claimtest.Params("k"))
	claimtest.NoError(t, there.Renew(t.Context(), rec.Digest, rec.Fence, 2*rec.ExpiresAt.Sub(rec.ClaimedAt)))
	clock.Advance(rec.ExpiresAt.Sub(rec.ClaimedAt))
	claimtest.Settles(t, here, rec, claimtest.Completed("answer"))
	claimtest.WantFound(t, there, rec.Digest, semel.StateCompleted)
}
