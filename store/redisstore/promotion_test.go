package redisstore_test

import (
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/redisstore"
)

// replicated is a cluster of three masters, each with a replica.
type replicated struct {
	*testserver.RedisClusterServers

	replicas []*testserver.RedisServer
}

func startReplicated(t *testing.T) replicated {
	t.Helper()
	if !claimtest.Long() {
		t.Skip("the nodes take seconds to agree that a master is gone: SEMEL_LONG=1")
	}
	c := replicated{RedisClusterServers: testserver.StartRedisCluster(t, 3)}
	for master := range c.Nodes {
		c.replicas = append(c.replicas, c.Replica(master))
	}
	return c
}

// fail kills a master, and waits until its replica has taken over.
func (c replicated) fail(t *testing.T, master int) {
	t.Helper()
	c.Nodes[master].Kill()
	testserver.Eventually(t, "the cluster promotes the replica", func() bool {
		return strings.Contains(command(t, c.replicas[master].Addr(), "ROLE"), "master") &&
			strings.Contains(command(t, c.replicas[master].Addr(), "CLUSTER", "INFO"), "cluster_state:ok")
	})
}

// Promises 1 and 2, where each master has one replica and [redisstore.Options.Replicas] waits for it: the master that counts the
// fences is killed under load and its replica is promoted, and nothing that was acknowledged is lost. Claims in its slots go on
// when it is back, as the replica that they wait for.
func TestReplicaPromotedInACluster(t *testing.T) {
	t.Parallel()
	servers := startReplicated(t)
	l := startLoad(t, clusterDSN(servers.RedisClusterServers)+"&replicas=1")
	l.waitMore(300)
	master := servers.Owner(servers.Slot("semel:fence"))
	servers.fail(t, master)
	servers.Nodes[master].Start()
	l.waitMore(300)
	l.end()
	if l.repeats.Load() == 0 {
		t.Error("no verb was interrupted")
	}
}

// What this store does NOT promise without [redisstore.Options.Replicas]: a cluster promotes a replica that is behind, and what was
// acknowledged meanwhile is won and executed again (promises 1 and 2). Fences grow even then.
func TestReplicaInAClusterWasBehind(t *testing.T) {
	t.Parallel()
	servers := startReplicated(t)
	dsn := clusterDSN(servers.RedisClusterServers)
	s := open(t, dsn, nil)
	careful := open(t, dsn+"&replicas=1&replica_timeout=5s", nil)
	kept, half := tagged(7, 0), wins(t, careful, tagged(7, 1))
	settles(t, careful, wins(t, careful, kept), completed("answer"))

	master := servers.Owner(servers.Slot(redisstore.Key(s, kept.Digest)))
	replica := servers.replicas[master].Addr()
	command(t, replica, "CONFIG", "SET", "masterauth", "wrong") // so that it cannot take up its link again
	command(t, servers.Nodes[master].Addr(), "CLIENT", "KILL", "TYPE", "replica")
	testserver.Eventually(t, "the replica hears no more", func() bool {
		return strings.Contains(command(t, replica, "INFO", "replication"), "master_link_status:down")
	})
	lost := wins(t, s, tagged(7, 2))
	settles(t, s, half, completed("lost answer"))
	hasty := open(t, dsn+"&replicas=1&replica_timeout=50ms", nil)
	if _, won, err := hasty.Claim(t.Context(), tagged(7, 3)); err == nil || won || !strings.Contains(err.Error(), "0 of 1 replicas") {
		t.Errorf("won %v, error %v, want an error: no replica has it", won, err)
	}
	servers.fail(t, master)

	var rec semel.Record
	testserver.Eventually(t, "the store finds the new master", func() (won bool) {
		var err error
		rec, won, err = s.Claim(t.Context(), by(2, tagged(7, 2)))
		if err == nil && !won {
			t.Fatal("the claim was not lost; if Redis has learned to keep it, the documents are too modest")
		}
		return won
	})
	if rec.Fence <= lost.Fence {
		t.Errorf("the second winner has fence %d, the first had %d, want a greater one", rec.Fence, lost.Fence)
	}
	wantFound(t, s, half.Digest, semel.StateClaimed)
	if rec, won, err := s.Claim(t.Context(), by(2, kept)); err != nil || won || string(rec.Outcome) != "answer" {
		t.Errorf("what was replicated: got %q, won %v, error %v, want the first answer", rec.Outcome, won, err)
	}
}
