package testserver

import (
	"testing"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// RedisOptions are the options of [StartRedis].
type RedisOptions = dbserver.RedisOptions

// RedisServer is a Redis server that belongs to one test.
type RedisServer struct{ *life[*dbserver.Redis] }

// StartRedis starts a Redis server for this test.
func StartRedis(tb testing.TB, o *RedisOptions) *RedisServer {
	tb.Helper()
	used(tb, dbserver.EnvRedis)
	s, err := servers(tb).Redis(tb.Context(), o)
	return &RedisServer{newLife(tb, s, err)}
}

// Promote makes a replica a master of its own.
func (s *RedisServer) Promote() { s.must(s.server.Promote) }

// RedisClusterServers is a Redis cluster that belongs to one test.
type RedisClusterServers struct {
	// Nodes are the masters.
	Nodes []*RedisServer

	tb      testing.TB
	cluster *dbserver.RedisCluster
}

// StartRedisCluster starts a cluster of at least three masters for this test.
func StartRedisCluster(tb testing.TB, nodes int) *RedisClusterServers {
	tb.Helper()
	used(tb, dbserver.EnvRedisCluster)
	cluster, err := servers(tb).RedisCluster(tb.Context(), nodes, nil)
	require(tb, err)
	c := &RedisClusterServers{tb: tb, cluster: cluster}
	for _, node := range cluster.Nodes {
		c.Nodes = append(c.Nodes, &RedisServer{newLife(tb, node, nil)})
	}
	return c
}

// Replica adds a replica of the master with this index. It has no address in Addrs.
func (c *RedisClusterServers) Replica(master int) *RedisServer {
	c.tb.Helper()
	s, err := c.cluster.Replica(c.tb.Context(), master)
	return &RedisServer{newLife(c.tb, s, err)}
}

// Addrs are host:port of every master.
func (c *RedisClusterServers) Addrs() []string { return c.cluster.Addrs() }

// Slot returns the slot of a key.
func (c *RedisClusterServers) Slot(key string) int {
	c.tb.Helper()
	slot, err := c.cluster.Slot(c.tb.Context(), key)
	require(c.tb, err)
	return slot
}

// Owner returns the index of the master that serves a slot.
func (c *RedisClusterServers) Owner(slot int) int {
	c.tb.Helper()
	owner, err := c.cluster.Owner(c.tb.Context(), slot)
	require(c.tb, err)
	return owner
}

// MoveSlot moves a slot to the master with this index, as an operator does while clients work.
func (c *RedisClusterServers) MoveSlot(slot, to int) {
	c.tb.Helper()
	m := c.BeginMove(slot, to)
	m.Keys()
	m.Finish()
}

// Move is a slot on its way from one master to another.
type Move struct {
	tb   testing.TB
	move *dbserver.Move
}

// BeginMove marks a slot as moving: its keys stay, and clients are sent to the other master for new ones.
func (c *RedisClusterServers) BeginMove(slot, to int) *Move {
	c.tb.Helper()
	m, err := c.cluster.BeginMove(c.tb.Context(), slot, to)
	require(c.tb, err)
	return &Move{tb: c.tb, move: m}
}

// Keys moves the keys that are in the slot now.
func (m *Move) Keys() {
	m.tb.Helper()
	require(m.tb, m.move.Keys(m.tb.Context()))
}

// Finish tells every node that the slot has moved.
func (m *Move) Finish() {
	m.tb.Helper()
	require(m.tb, m.move.Finish(m.tb.Context()))
}
