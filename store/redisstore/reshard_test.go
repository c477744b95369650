package redisstore_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
)

// Promises 1 and 2, while an operator moves hundreds of slots of a cluster of six with redis-cli and callers go on.
func TestReshardUnderLoad(t *testing.T) {
	t.Parallel()
	if !claimtest.Long() {
		t.Skip("it takes a minute: SEMEL_LONG=1")
	}
	const nodes, enough = 6, 1000
	servers := testserver.StartRedisCluster(t, nodes)
	l := startLoad(t, clusterDSN(servers))
	circle := [][2]int{{0, 5}, {5, 1}, {1, 0}}
	for i := 0; i < len(circle) || i < 10*len(circle) && l.total() < enough; i++ { // on a busy machine slots move faster than callers claim
		way := circle[i%len(circle)]
		reshard(t, servers, way[0], way[1], 300)
	}
	l.end()
	if l.total() < enough {
		t.Errorf("%d intents while the slots moved: the test showed nothing", l.total())
	}
}

// reshard moves so many slots from one node to another.
func reshard(t *testing.T, servers *testserver.RedisClusterServers, from, to, slots int) {
	t.Helper()
	program, err := exec.LookPath("redis-cli")
	if err != nil {
		testserver.Missing(t, "redis-cli", "apt-get install redis-tools")
	}
	id := func(node int) string { return strings.TrimSpace(command(t, servers.Addrs()[node], "CLUSTER", "MYID")) }
	out, err := exec.CommandContext(t.Context(), program, "--cluster", "reshard", servers.Addrs()[0],
		"--cluster-from", id(from), "--cluster-to", id(to), "--cluster-slots", fmt.Sprint(slots), "--cluster-yes").CombinedOutput()
	if err != nil {
		t.Fatalf("redis-cli --cluster reshard: %v\n%s", err, out)
	}
}
