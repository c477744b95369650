package testserver

import (
	"testing"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// RedisOptions are the options of [StartRedis].
type RedisOptions struct {
	// AppendOnly keeps an append-only file; without it nothing survives the end of the server.
	AppendOnly bool
	// Fsync is appendfsync: always, everysec or no. Default: always.
	Fsync string
	// MaxMemoryPolicy is maxmemory-policy. Default: noeviction.
	MaxMemoryPolicy string
	// ReplicaOf is the server this one replicates, or nil.
	ReplicaOf *RedisServer
	// Conf is added to redis.conf.
	Conf map[string]string
	// Clock, when not nil, is the server's clock instead of the machine's.
	Clock *Clock
}

// RedisServer is a Redis server that belongs to one test.
type RedisServer struct {
	*life

	server *dbserver.Redis
}

// StartRedis starts a Redis server for this test.
func StartRedis(tb testing.TB, o *RedisOptions) *RedisServer {
	tb.Helper()
	if o == nil {
		o = &RedisOptions{}
	}
	options := &dbserver.RedisOptions{
		AppendOnly: o.AppendOnly, Fsync: o.Fsync, MaxMemoryPolicy: o.MaxMemoryPolicy, Conf: o.Conf, Clock: o.Clock,
	}
	if o.ReplicaOf != nil {
		options.ReplicaOf = o.ReplicaOf.server
	}
	h, err := home()
	require(tb, err)
	s, err := h.Redis(tb.Context(), options)
	require(tb, err)
	return &RedisServer{life: newLife(tb, s), server: s}
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
	h, err := home()
	require(tb, err)
	cluster, err := h.RedisCluster(tb.Context(), nodes, nil)
	require(tb, err)
	c := &RedisClusterServers{tb: tb, cluster: cluster}
	for _, node := range cluster.Nodes {
		c.Nodes = append(c.Nodes, &RedisServer{life: newLife(tb, node), server: node})
	}
	return c
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
