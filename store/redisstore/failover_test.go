package redisstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/redisstore"
)

// pair is a primary and its replica, with a link between them that can be held up.
type pair struct {
	primary, replica *testserver.RedisServer
	link             *testserver.Proxy
}

func startPair(t *testing.T) pair {
	t.Helper()
	conf := map[string]string{"repl-diskless-sync-delay": "0"}
	primary := testserver.StartRedis(t, &testserver.RedisOptions{AppendOnly: true, Conf: conf})
	link := testserver.NewProxy(t, primary.Addr())
	replica := testserver.StartRedis(t, &testserver.RedisOptions{
		AppendOnly: true, Conf: map[string]string{"replicaof": strings.Replace(link.Addr(), ":", " ", 1)},
	})
	look := rawClient(t, replica.Addr())
	testserver.Eventually(t, "the replica has what the primary has", func() bool {
		info, err := look.do("INFO", "replication").ToString()
		return err == nil && strings.Contains(info, "master_link_status:up")
	})
	return pair{primary, replica, link}
}

// hasAll waits until the replica has what was written.
func (p pair) hasAll(t *testing.T) {
	t.Helper()
	offset := func(addr, field string) string {
		info := command(t, addr, "INFO", "replication")
		_, rest, _ := strings.Cut(info, field+":")
		value, _, _ := strings.Cut(rest, "\r\n")
		return value
	}
	testserver.Eventually(t, "the replica has what was written", func() bool {
		return offset(p.primary.Addr(), "master_repl_offset") == offset(p.replica.Addr(), "slave_repl_offset")
	})
}

// What this store does NOT promise: Redis replicates after it has answered, so
// a failover can lose a claim that was won, and another wins it too (promise 1
// does not hold over it), and an outcome that was recorded, whose intent is
// then executed again (promise 2). Fences grow even then, so that a downstream
// system that checks them refuses the first holder.
func TestFailoverCanLoseAClaim(t *testing.T) {
	t.Parallel()
	p := startPair(t)
	s := open(t, "redis://"+p.primary.Addr(), nil)
	kept := wins(t, s, params("kept"))
	settles(t, s, kept, completed("answer"))
	half := wins(t, s, params("half"))
	p.hasAll(t)

	p.link.Stall() // the replica hears no more
	lost := wins(t, s, params("lost"))
	settles(t, s, half, completed("lost answer"))
	p.primary.Kill()
	p.replica.Promote()

	after := open(t, "redis://"+p.replica.Addr(), nil)
	if rec, won, err := after.Claim(t.Context(), by(2, params("kept"))); err != nil || won || string(rec.Outcome) != "answer" {
		t.Errorf("what was replicated: got %q, won %v, error %v, want the first answer", rec.Outcome, won, err)
	}
	rec, won, err := after.Claim(t.Context(), by(2, params("lost")))
	if err != nil || !won {
		t.Fatalf("won %v, error %v: the claim was not lost; if Redis has learned to keep it, the documents are too modest", won, err)
	}
	if rec.Fence <= lost.Fence {
		t.Errorf("the second winner has fence %d, the first had %d, want a greater one", rec.Fence, lost.Fence)
	}
	wantFound(t, after, half.Digest, semel.StateClaimed)
}

// Options.Replicas narrows that window: what no replica has is not
// acknowledged, neither at first nor when it is repeated.
func TestReplicas(t *testing.T) {
	t.Parallel()
	p := startPair(t)
	dsn := "redis://" + p.primary.Addr() + "?replicas=1&replica_timeout="
	s := open(t, dsn+"30s", nil)
	for range 20 {
		rec := wins(t, s, params("k"))
		settles(t, s, rec, semel.Settlement{State: semel.StateReleased})
	}
	half := wins(t, s, params("half"))
	noError(t, s.Renew(t.Context(), half.Digest, half.Fence, lease))
	answers, _, err := s.Batch(t.Context(), []semel.ClaimParams{params("a"), params("b")}, nil)
	if err != nil || !answers[0].Won || !answers[1].Won {
		t.Errorf("together: got %+v, error %v", answers, err)
	}

	p.link.Stall()
	for range 2 { // repeated over another connection, which wrote nothing itself, it fails in the same way
		hasty := open(t, dsn+"50ms", nil)
		if _, won, err := hasty.Claim(t.Context(), params("lost")); err == nil || won || !strings.Contains(err.Error(), "0 of 1 replicas") {
			t.Errorf("claim: won %v, error %v, want an error: no replica has it", won, err)
		}
		wantWords(t, hasty.Renew(t.Context(), half.Digest, half.Fence, 2*lease), "0 of 1 replicas") // a lease that a failover shortens is not trusted
		wantWords(t, hasty.Settle(t.Context(), half.Digest, half.Fence, completed("answer")), "0 of 1 replicas")
		_, err := hasty.Lookup(t.Context(), half.Digest) // by which a duplicate that waits learns the outcome
		wantWords(t, err, "0 of 1 replicas")
	}
	p.link.Clear() // the link breaks, and the replica takes up again
	rec := wins(t, s, params("lost"))
	settles(t, s, half, completed("answer"))
	p.primary.Kill()
	p.replica.Promote()
	after := open(t, "redis://"+p.replica.Addr(), nil)
	if stands, won, err := after.Claim(t.Context(), by(2, params("lost"))); err != nil || won || stands.Fence != rec.Fence {
		t.Errorf("won %v, fence %d, error %v, want the acknowledged claim %d", won, stands.Fence, err, rec.Fence)
	}
	if stands, err := after.Lookup(t.Context(), half.Digest); err != nil || string(stands.Outcome) != "answer" {
		t.Errorf("got %q, error %v, want the acknowledged outcome", stands.Outcome, err)
	}
}

// With min-replicas-to-write, a primary that was cut off from its replicas takes no claims and no settlements (promise 10), and goes
// on when they are back. A store that begins meanwhile is refused.
func TestReplicasAreMissing(t *testing.T) {
	t.Parallel()
	primary := testserver.StartRedis(t, &testserver.RedisOptions{AppendOnly: true})
	dsn := "redis://" + primary.Addr()
	s := open(t, dsn, nil)
	rec := wins(t, s, params("k"))
	command(t, primary.Addr(), "CONFIG", "SET", "min-replicas-to-write", "1")
	_, won, err := s.Claim(t.Context(), params("l"))
	if won {
		t.Error("a claim was won")
	}
	wantWords(t, err, "min-replicas-to-write")
	wantWords(t, s.Settle(t.Context(), rec.Digest, rec.Fence, completed("answer")), "min-replicas-to-write")
	_, err = redisstore.Open(t.Context(), dsn, nil)
	wantWords(t, err, "min-replicas-to-write")

	command(t, primary.Addr(), "CONFIG", "SET", "min-replicas-to-write", "0")
	settles(t, s, rec, completed("answer"))
	wins(t, s, params("l"))
}

// In a cluster it works the same even when a slot has moved meanwhile.
func TestReplicasInACluster(t *testing.T) {
	t.Parallel()
	servers := testserver.StartRedisCluster(t, 3)
	dsn := clusterDSN(servers)
	s := open(t, dsn+"&replicas=1&replica_timeout=20ms", nil)
	slot := servers.Slot(redisstore.Key(s, params("k").Digest))
	unconfirmed := func(name string) {
		t.Helper()
		p := params(name)
		p.Digest[0], p.Digest[1] = params("k").Digest[0], params("k").Digest[1] // the same slot
		if _, won, err := s.Claim(t.Context(), p); err == nil || won || !strings.Contains(err.Error(), "0 of 1 replicas") {
			t.Errorf("won %v, error %v, want an error: no replica exists", won, err)
		}
	}
	unconfirmed("k")
	move := servers.BeginMove(slot, (servers.Owner(slot)+1)%3)
	unconfirmed("k")
	unconfirmed("on the way")
	move.Keys()
	unconfirmed("k")
	move.Finish()
	unconfirmed("k")
	rec, err := open(t, dsn, nil).Lookup(t.Context(), params("k").Digest)
	if err != nil || rec.Attempt != 1 || rec.LeaseLeft() < lease-time.Minute {
		t.Errorf("got attempt %d, %v left, error %v, want the claim unchanged", rec.Attempt, rec.LeaseLeft(), err)
	}
}

func TestReplicaIsRefused(t *testing.T) {
	t.Parallel()
	p := startPair(t)
	s := open(t, "redis://"+p.primary.Addr(), nil)
	rec := wins(t, s, params("k"))
	settles(t, s, rec, completed("answer"))
	p.hasAll(t)
	refused(t, "redis://"+p.replica.Addr(), nil, "name the primary", p.link.Addr())
	r := open(t, "redis://"+p.replica.Addr(), &redisstore.Options{ReadOnly: true, Replicas: 1})
	if found, err := r.Lookup(t.Context(), rec.Digest); err != nil || string(found.Outcome) != "answer" {
		t.Errorf("got %q, error %v, want the replicated answer", found.Outcome, err)
	}
	if page, err := r.List(t.Context(), semel.ListParams{Outcomes: true}); err != nil || len(page.Records) != 1 || string(page.Records[0].Outcome) != "answer" {
		t.Errorf("got %d records, error %v, want the replicated one", len(page.Records), err)
	}
}
