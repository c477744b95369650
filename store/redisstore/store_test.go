package redisstore_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/redisstore"
	"github.com/semel-dev/semel/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, single.harness(t))
}

func TestStoreUnderFaults(t *testing.T) {
	t.Parallel()
	storetest.RunFaults(t, single.harness(t))
}

func TestStoreInCluster(t *testing.T) {
	t.Parallel()
	storetest.Run(t, cluster.harness(t))
}

func TestStoreInClusterUnderFaults(t *testing.T) {
	t.Parallel()
	storetest.RunFaults(t, cluster.harness(t))
}

// The scripts of other tests are given the time; these ask the server for it,
// as they do outside of tests.
func TestStoreByTheServersClock(t *testing.T) {
	t.Parallel()
	h := single.runningHarness(t)
	storetest.Run(t, func(tb testing.TB) *storetest.Instance {
		tb.Helper()
		if strings.HasSuffix(tb.Name(), "/model/sequences") {
			tb.Skip("it is about millisecond after millisecond, and takes long without them")
		}
		return h(tb)
	})
}

// Everything that holds without shared batches holds with them.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	storetest.Run(t, claimtest.Grouped(single.harness(t)))
}

// place names the database of a test.
type place struct {
	addrs func(testing.TB) []string
	query string
}

var (
	single  = place{addrs: func(tb testing.TB) []string { tb.Helper(); return []string{testserver.Redis(tb)} }, query: "?prefix="}
	cluster = place{addrs: testserver.RedisCluster, query: "?cluster=true&prefix="}
)

// dsn names the place with a prefix of the test's own.
func (p place) dsn(tb testing.TB) string {
	tb.Helper()
	addrs := p.addrs(tb)
	return "redis://" + addrs[0] + p.query + testserver.RedisPrefix(tb, addrs...)
}

// hands is a clock that moves only when told. It is far ahead of the server's,
// which therefore never takes a key away.
type hands struct{ ms atomic.Int64 }

func newHands() *hands {
	h := &hands{}
	h.ms.Store(time.Now().UnixMilli())
	return h
}

func (h *hands) Advance(d time.Duration) { h.ms.Add(d.Milliseconds()) }

// harness gives every instance a prefix of its own, and a clock that is moved by hand.
func (p place) harness(tb testing.TB) storetest.Harness {
	tb.Helper()
	instance := p.sharing(tb)
	return func(tb testing.TB) *storetest.Instance {
		tb.Helper()
		clock := newHands()
		inst := instance(tb, redisstore.WithClock(redisstore.Options{}, clock.ms.Load))
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
		var ahead hands
		inst := instance(tb, redisstore.WithOffset(redisstore.Options{}, ahead.ms.Load))
		inst.Advance, inst.Running = ahead.Advance, true
		return inst
	}
}

// sharing makes instances that share a client: connecting costs more than most rules.
func (p place) sharing(tb testing.TB) func(testing.TB, *redisstore.Options) *storetest.Instance {
	tb.Helper()
	client, prefix := p.raw(tb).client, testserver.RedisPrefix(tb, p.addrs(tb)...)
	var made atomic.Int64
	return func(tb testing.TB, o *redisstore.Options) *storetest.Instance {
		tb.Helper()
		o.Prefix = fmt.Sprint(prefix, made.Add(1))
		open := func(tb testing.TB) *redisstore.Store {
			tb.Helper()
			s, err := redisstore.New(client, o)
			noError(tb, err)
			return s
		}
		s := open(tb)
		return &storetest.Instance{
			Store: s,
			Reopen: func(tb testing.TB) semel.Store {
				tb.Helper()
				noError(tb, s.Close())
				s = open(tb)
				return s
			},
		}
	}
}

func mustOpen(tb testing.TB, dsn string, o *redisstore.Options) *redisstore.Store {
	tb.Helper()
	s, err := redisstore.Open(tb.Context(), dsn, o)
	noError(tb, err)
	return s
}

// open opens the store until the test ends.
func open(tb testing.TB, dsn string, o *redisstore.Options) *redisstore.Store {
	tb.Helper()
	s := mustOpen(tb, dsn, o)
	closes(tb, s)
	return s
}

// command runs one command on the server.
func command(tb testing.TB, addr string, words ...string) string {
	tb.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, ForceSingleClient: true, DisableCache: true})
	noError(tb, err)
	defer client.Close()
	m, err := client.Do(tb.Context(), client.B().Arbitrary(words...).Build()).ToMessage()
	if err != nil && !rueidis.IsRedisNil(err) {
		tb.Fatalf("%s: %v", strings.Join(words, " "), err)
	}
	text, err := m.ToString()
	if err != nil {
		return m.String()
	}
	return text
}
