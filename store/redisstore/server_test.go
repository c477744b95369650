package redisstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/storerace"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/redisstore"
)

// Promises 2 and 7: a full server takes no new claim and no outcome, says so,
// and goes on with all that needs no room: replays, renewals, settlements
// without an outcome, releases and waiting.
func TestFullServer(t *testing.T) {
	t.Parallel()
	server := testserver.StartRedis(t, nil)
	s := open(t, "redis://"+server.Addr(), nil)
	done := wins(t, s, params("done"))
	settles(t, s, done, completed("answer"))
	var open []semel.Record
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		open = append(open, wins(t, s, params(name)))
	}
	command(t, server.Addr(), "CONFIG", "SET", "maxmemory", "1mb")

	_, _, err := s.Claim(t.Context(), params("new"))
	wantFull(t, "a new claim", err)
	wantFull(t, "an outcome", s.Settle(t.Context(), open[0].Digest, open[0].Fence, completed("answer")))
	wantFound(t, s, open[0].Digest, semel.StateClaimed)
	rec, won, err := s.Claim(t.Context(), by(2, params("done")))
	if err != nil || won || string(rec.Outcome) != "answer" {
		t.Errorf("replay: got %q, won %v, error %v", rec.Outcome, won, err)
	}
	if err := s.Renew(t.Context(), open[1].Digest, open[1].Fence, 2*lease); err != nil {
		t.Errorf("renew: %v", err)
	}
	settles(t, s, open[1], semel.Settlement{State: semel.StateCompleted, Retention: retention})
	settles(t, s, open[2], semel.Settlement{State: semel.StateUnknown, Note: "a reason", Retention: retention})
	settles(t, s, open[3], semel.Settlement{State: semel.StateReleased})
	waiting := await(t, s, open[4].Digest, rawClient(t, server.Addr()).marked(s, open[4].Digest))

	// Together it is the same, for each step.
	claims, _, err := s.Batch(t.Context(), []semel.ClaimParams{params("new"), by(2, params("done"))}, nil)
	if err != nil || len(claims) != 2 {
		t.Fatalf("got %d answers, error %v", len(claims), err)
	}
	wantFull(t, "a new claim", claims[0].Err)
	if claims[1].Err != nil || string(claims[1].Record.Outcome) != "answer" {
		t.Errorf("replay: got %q, error %v", claims[1].Record.Outcome, claims[1].Err)
	}
	_, settled, err := s.Batch(t.Context(), nil, []semel.SettleParams{
		{Digest: open[0].Digest, Fence: open[0].Fence, Settlement: completed("answer")},
		{Digest: open[4].Digest, Fence: open[4].Fence, Settlement: semel.Settlement{State: semel.StateCompleted, Retention: retention}},
	})
	if err != nil || settled[1] != nil {
		t.Errorf("got %v, error %v", settled, err)
	}
	wantFull(t, "an outcome", settled[0])
	if err := <-waiting; err != nil {
		t.Errorf("await: %v", err)
	}

	again := mustOpen(t, "redis://"+server.Addr(), nil) // a full server can be opened
	noError(t, again.Close())
	command(t, server.Addr(), "CONFIG", "SET", "maxmemory", "0")
	settles(t, s, open[0], completed("answer"))
	wins(t, s, params("new"))
}

func wantFull(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, semel.ErrFull) || !strings.Contains(err.Error(), "raise maxmemory") {
		t.Errorf("%s: got %v, want %v and what to do", what, err, semel.ErrFull)
	}
}

// The error of a server that cannot serve is passed on with what to do, and
// says nothing about the intent.
func TestServerThatCannotServe(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil []string
		want  string
	}{
		"replica":       {[]string{"REPLICAOF", "127.0.0.1", "1"}, "name the primary"},
		"no replicas":   {[]string{"CONFIG", "SET", "min-replicas-to-write", "1"}, "min-replicas-to-write"},
		"no permission": {[]string{"ACL", "SETUSER", "default", "-get"}, "grant it"},
		"other data":    {[]string{"RPUSH", "KEY", "x"}, "choose another"},
		"garbage":       {[]string{"SET", "KEY", "x"}, ""},
		"newer layout":  {[]string{"SETRANGE", "KEY", "32", "C"}, "newer program"},
		"no counter":    {[]string{"SET", "FENCE", "x"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := testserver.StartRedis(t, nil)
			s := open(t, "redis://"+server.Addr(), nil)
			p := params("k")
			if name == "newer layout" {
				wins(t, s, p)
			}
			for i, word := range test.spoil {
				test.spoil[i] = strings.NewReplacer("KEY", redisstore.Key(s, p.Digest), "FENCE", "semel:fence").Replace(word)
			}
			command(t, server.Addr(), test.spoil...)
			_, won, err := s.Claim(t.Context(), p)
			if err == nil || won || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got won %v, error %v, want it to say %q", won, err, test.want)
			}
			for _, sentinel := range []error{semel.ErrNotFound, semel.ErrLost, semel.ErrSettled, semel.ErrFull, semel.ErrClosed} {
				if errors.Is(err, sentinel) {
					t.Errorf("%v is %v, but the outcome is unknown", err, sentinel)
				}
			}
			claims, _, err := s.Batch(t.Context(), []semel.ClaimParams{p, by(2, params("l"))}, nil)
			if err == nil && (claims[0].Err == nil || !strings.Contains(claims[0].Err.Error(), test.want)) {
				t.Errorf("together: got %v, want it to say %q", claims[0].Err, test.want)
			}
		})
	}
}

// A part of a cluster that is gone takes no part of the others with it for
// longer than the cluster itself says.
func TestNodeOfAClusterGone(t *testing.T) {
	t.Parallel()
	servers := testserver.StartRedisCluster(t, 3)
	s := open(t, "redis://"+servers.Addrs()[0]+"?cluster=true&addr="+servers.Addrs()[1]+"&addr="+servers.Addrs()[2], nil)
	p := params("k")
	owner := servers.Owner(servers.Slot(redisstore.Key(s, p.Digest)))
	rec := wins(t, s, p)
	servers.Nodes[owner].Kill()
	if _, err := s.Lookup(t.Context(), rec.Digest); err == nil || errors.Is(err, semel.ErrNotFound) {
		t.Errorf("got %v, want an error that answers nothing", err)
	}
	servers.Nodes[owner].Start()
	testserver.Eventually(t, "the cluster serves again", func() bool {
		_, err := s.Lookup(t.Context(), rec.Digest)
		return errors.Is(err, semel.ErrNotFound) // it kept nothing on disk
	})
	next, won, err := s.Claim(t.Context(), p)
	if err != nil || !won || next.Fence <= rec.Fence {
		t.Errorf("won %v with fence %d, error %v, want one above %d", won, next.Fence, err, rec.Fence)
	}
}

// A replica of a cluster may be down: it holds nothing of its own.
func TestReplicaOfAClusterGone(t *testing.T) {
	t.Parallel()
	servers := testserver.StartRedisCluster(t, 3)
	replica := servers.Replica(0)
	s := open(t, clusterDSN(servers), nil)
	for i := range 50 {
		wins(t, s, params(fmt.Sprint(i)))
	}
	want := func() {
		t.Helper()
		lists(t, s, 50)
	}
	want()
	testserver.Eventually(t, "all primaries count on the replica", func() bool {
		return !slices.ContainsFunc(servers.Addrs(), func(addr string) bool {
			slots, err := rawClient(t, addr).do("CLUSTER", "SLOTS").ToAny()
			return err != nil || !strings.Contains(fmt.Sprint(slots), replica.Addr()[strings.LastIndexByte(replica.Addr(), ':')+1:])
		})
	})
	replica.Kill()
	want()
	for range 8 { // it may ask any server first
		open(t, clusterDSN(servers), nil)
	}
}

// Promise 8: keys go when their records have expired, in every state.
func TestKeysExpire(t *testing.T) {
	t.Parallel()
	for name, p := range places() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, look := open(t, p.dsn(t), nil), p.raw(t)
			left := func(d semel.Digest) time.Duration {
				t.Helper()
				ms, err := look.client.Do(t.Context(), look.client.B().Pttl().Key(redisstore.Key(s, d)).Build()).AsInt64()
				noError(t, err)
				return time.Duration(ms) * time.Millisecond
			}
			// A key outlives its record; in a cluster by more than the age at
			// which a drawn fence is refused.
			outlive := map[string]time.Duration{"single": 0, "cluster": 31 * time.Second}[name]
			want := func(what string, d semel.Digest, ttl time.Duration) {
				t.Helper()
				if got := left(d); got < ttl+outlive-20*time.Second || got > ttl+time.Minute {
					t.Errorf("%s: the key lives for %v, want a little more than %v", what, got, ttl+outlive)
				}
			}
			rec := wins(t, s, params("k"))
			want("claimed", rec.Digest, lease+retention)
			noError(t, s.Renew(t.Context(), rec.Digest, rec.Fence, 9*lease))
			want("renewed", rec.Digest, 9*lease+retention)
			to := completed("answer")
			to.Retention = 3 * time.Hour
			settles(t, s, rec, to)
			want("settled", rec.Digest, 3*time.Hour)
			rec = wins(t, s, params("l"))
			settles(t, s, rec, semel.Settlement{State: semel.StateReleased})
			if got := left(rec.Digest); got > time.Minute || got < outlive-20*time.Second {
				t.Errorf("released: the key lives for %v, want %v to a minute", got, outlive)
			}
		})
	}
	s, look := open(t, single.dsn(t), nil), single.raw(t)
	q := params("k")
	q.Lease, q.Retention = time.Millisecond, time.Millisecond
	wins(t, s, q)
	testserver.Eventually(t, "the record is absent", func() bool {
		_, err := s.Lookup(t.Context(), q.Digest)
		return errors.Is(err, semel.ErrNotFound)
	})
	testserver.Eventually(t, "the key is gone", func() bool { return look.record(s, q.Digest) == "" })
}

// Scripts that the server has forgotten are sent again, while others run.
func TestScriptFlush(t *testing.T) {
	t.Parallel()
	server := testserver.StartRedis(t, nil)
	s := open(t, "redis://"+server.Addr(), nil)
	stop, stopped := make(chan struct{}), make(chan struct{})
	flushes := 0
	admin := rawClient(t, server.Addr())
	go func() {
		defer close(stopped)
		for ; ; flushes++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := admin.do("SCRIPT", "FLUSH").Error(); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	report, err := storerace.Run(t.Context(), func() (semel.Store, error) { return redisstore.Open(t.Context(), "redis://"+server.Addr(), nil) }, &storerace.Options{Keys: 24})
	if err != nil || len(report.Violations) > 0 {
		t.Errorf("violations %q, error %v", report.Violations, err)
	}
	for i := range 50 {
		p := params(strings.Repeat("x", i))
		answers, _, err := s.Batch(t.Context(), []semel.ClaimParams{p, by(2, params("twin"+p.Name))}, nil)
		if err != nil || !answers[0].Won || !answers[1].Won {
			t.Fatalf("got %+v, error %v", answers, err)
		}
	}
	close(stop)
	<-stopped
	if flushes < 10 {
		t.Errorf("the scripts were forgotten %d times: the test showed nothing", flushes)
	}
}
