package dbserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// clusterSlots is the number of slots of every Redis cluster.
const clusterSlots = 16384

// RedisCluster is a cluster of masters. Slots are spread evenly, in the order of the nodes.
type RedisCluster struct {
	Nodes []*Redis // the masters
	ids   []string

	home     *Home
	options  RedisOptions
	replicas int
}

// RedisCluster starts a cluster of at least three masters.
func (h *Home) RedisCluster(ctx context.Context, nodes int, o *RedisOptions) (*RedisCluster, error) {
	if o == nil {
		o = &RedisOptions{}
	}
	c := &RedisCluster{home: h, options: *o}
	for range nodes {
		s, err := c.node(ctx)
		if err != nil {
			return nil, err
		}
		c.Nodes = append(c.Nodes, s)
	}
	if err := c.join(ctx); err != nil {
		return nil, fmt.Errorf("make a Redis cluster: %w", err)
	}
	return c, nil
}

// node starts a server that is to be part of the cluster.
func (c *RedisCluster) node(ctx context.Context) (*Redis, error) {
	bus, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	o := c.options
	o.Conf = map[string]string{
		"cluster-enabled": "yes", "cluster-port": strconv.Itoa(bus), "cluster-announce-ip": host,
		"cluster-node-timeout": "3000", "repl-diskless-sync-delay": "0",
	}
	maps.Copy(o.Conf, c.options.Conf)
	return c.home.Redis(ctx, &o)
}

// Replica adds a replica of a master, and waits until it has what the master has and all nodes know it.
func (c *RedisCluster) Replica(ctx context.Context, master int) (*Redis, error) {
	s, err := c.node(ctx)
	if err == nil {
		err = c.meet(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	c.replicas++
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := poll(ctx, func() (bool, error) { // until it has heard of its master
		_, err := s.Do(ctx, "CLUSTER", "REPLICATE", c.ids[master])
		return err == nil, nil
	}); err != nil {
		return nil, fmt.Errorf("replicate a master: %w", err)
	}
	if err := s.waitLinked(ctx); err != nil {
		return nil, fmt.Errorf("follow a master: %w", err)
	}
	return s, c.Wait(ctx)
}

// waitLinked waits until a replica has the data of its master and hears of what is new.
func (s *Redis) waitLinked(ctx context.Context) error {
	return poll(ctx, func() (bool, error) {
		info, err := s.text(ctx, "INFO", "replication")
		return err == nil && strings.Contains(info, "master_link_status:up"), nil
	})
}

// meet introduces a node to the cluster.
func (c *RedisCluster) meet(ctx context.Context, node *Redis) error {
	first := c.Nodes[0]
	bus, err := first.config(ctx, "cluster-port")
	if err == nil {
		_, err = node.Do(ctx, "CLUSTER", "MEET", host, strconv.Itoa(first.port), bus)
	}
	return err
}

// join gives every node its slots, introduces the nodes to each other, and waits until all of them agree.
func (c *RedisCluster) join(ctx context.Context) error {
	for i, node := range c.Nodes {
		id, err := node.text(ctx, "CLUSTER", "MYID")
		if err != nil {
			return err
		}
		c.ids = append(c.ids, id)
		from, to := i*clusterSlots/len(c.Nodes), (i+1)*clusterSlots/len(c.Nodes)-1
		_, err1 := node.Do(ctx, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(from), strconv.Itoa(to))
		_, err2 := node.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if i > 0 {
			if err := c.meet(ctx, node); err != nil {
				return err
			}
		}
	}
	return c.Wait(ctx)
}

// Wait waits until every master knows all nodes and says that all slots are served.
func (c *RedisCluster) Wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return poll(ctx, func() (bool, error) {
		for _, node := range c.Nodes {
			info, err := node.text(ctx, "CLUSTER", "INFO")
			if err != nil || !strings.Contains(info, "cluster_state:ok") ||
				!strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d\r", len(c.Nodes)+c.replicas)) {
				return false, nil //nolint:nilerr // not ready yet
			}
		}
		return true, nil
	})
}

// Addrs are host:port of every master.
func (c *RedisCluster) Addrs() []string {
	addrs := make([]string, 0, len(c.Nodes))
	for _, node := range c.Nodes {
		addrs = append(addrs, node.Addr())
	}
	return addrs
}

// Slot returns the slot of a key.
func (c *RedisCluster) Slot(ctx context.Context, key string) (int, error) {
	reply, err := c.Nodes[0].Do(ctx, "CLUSTER", "KEYSLOT", key)
	if err != nil {
		return 0, err
	}
	slot, err := reply.ToInt64()
	return int(slot), err
}

// Owner returns the index of the node that serves a slot.
func (c *RedisCluster) Owner(ctx context.Context, slot int) (int, error) {
	for i, node := range c.Nodes {
		nodes, err := node.text(ctx, "CLUSTER", "NODES")
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(nodes) {
			if fields := strings.Fields(line); len(fields) > 7 && strings.Contains(fields[2], "myself") && serves(fields[8:], slot) {
				return i, nil
			}
		}
	}
	return 0, fmt.Errorf("no node serves slot %d", slot)
}

// serves says whether a list such as "0-5460 7000 [93-<-id]" holds the slot.
func serves(ranges []string, slot int) bool {
	for _, r := range ranges {
		from, to, found := strings.Cut(r, "-")
		if !found {
			to = from
		}
		low, err1 := strconv.Atoi(from)
		high, err2 := strconv.Atoi(to)
		if err1 == nil && err2 == nil && low <= slot && slot <= high {
			return true
		}
	}
	return false
}

// Move is a slot on its way from one node to another.
type Move struct {
	cluster  *RedisCluster
	slot     int
	from, to int
}

// BeginMove marks the slot as moving: its keys stay, and new ones are made at the target node (clients are sent there
// by ASK).
func (c *RedisCluster) BeginMove(ctx context.Context, slot, to int) (*Move, error) {
	from, err := c.Owner(ctx, slot)
	if err != nil {
		return nil, err
	}
	m := &Move{cluster: c, slot: slot, from: from, to: to}
	if from == to {
		return m, nil
	}
	_, err1 := c.Nodes[to].Do(ctx, "CLUSTER", "SETSLOT", strconv.Itoa(slot), "IMPORTING", c.ids[from])
	_, err2 := c.Nodes[from].Do(ctx, "CLUSTER", "SETSLOT", strconv.Itoa(slot), "MIGRATING", c.ids[to])
	return m, errors.Join(err1, err2)
}

// Keys moves the keys that are in the slot now.
func (m *Move) Keys(ctx context.Context) error {
	const atOnce, timeoutMS = "100", "5000"
	from, port := m.cluster.Nodes[m.from], strconv.Itoa(m.cluster.Nodes[m.to].port)
	for m.from != m.to {
		reply, err := from.Do(ctx, "CLUSTER", "GETKEYSINSLOT", strconv.Itoa(m.slot), atOnce)
		if err != nil {
			return err
		}
		keys, err := reply.AsStrSlice()
		if err != nil || len(keys) == 0 {
			return err
		}
		command := append([]string{"MIGRATE", host, port, "", "0", timeoutMS, "KEYS"}, keys...)
		if _, err := from.Do(ctx, command...); err != nil {
			return err
		}
	}
	return nil
}

// Finish tells every node that the slot has moved.
func (m *Move) Finish(ctx context.Context) error {
	c := m.cluster
	tell := func(node int) error {
		_, err := c.Nodes[node].Do(ctx, "CLUSTER", "SETSLOT", strconv.Itoa(m.slot), "NODE", c.ids[m.to])
		return err
	}
	errs := []error{tell(m.to), tell(m.from)} // in this order, or no node has the slot if we end in between
	for i := range c.Nodes {
		if i != m.to && i != m.from {
			errs = append(errs, tell(i))
		}
	}
	return errors.Join(errs...)
}

func (s *Redis) text(ctx context.Context, args ...string) (string, error) {
	reply, err := s.Do(ctx, args...)
	if err != nil {
		return "", err
	}
	return reply.ToString()
}

func (s *Redis) config(ctx context.Context, name string) (string, error) {
	reply, err := s.Do(ctx, "CONFIG", "GET", name)
	if err != nil {
		return "", err
	}
	values, err := reply.AsStrMap()
	if err != nil && !rueidis.IsRedisNil(err) {
		return "", err
	}
	return values[name], nil
}
