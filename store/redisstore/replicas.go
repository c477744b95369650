package redisstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/rueidis"
)

// confirming is one script that runs until enough replicas have what it wrote.
type confirming struct {
	store      *Store
	script     *script
	keys, args []string

	node   rueidis.Client // where it runs; the store's client, until a slot has moved
	asking bool           // the slot is on its way there
}

// runConfirmed runs a script and waits until enough replicas have what it
// wrote, or found written and wrote again. WAIT speaks of its connection's last
// write, so both go over one connection, which follows no slot on its own.
func (s *Store) runConfirmed(ctx context.Context, sc *script, keys, args []string) rueidis.RedisResult {
	// Copies, so that those who call run need no memory of their own otherwise.
	c := &confirming{store: s, script: sc, keys: slices.Clone(keys), args: slices.Clone(args), node: s.client}
	resp := c.runConfirmed(ctx)
	for range maxRedirects {
		if !c.follow(resp.Error()) {
			break
		}
		resp = c.runConfirmed(ctx)
	}
	return resp
}

// follow turns to the node that the server named, if it named one.
func (c *confirming) follow(err error) bool {
	redisErr, ok := rueidis.IsRedisErr(err)
	if !ok {
		return false
	}
	addr, moved := redisErr.IsMoved()
	if !moved {
		if addr, c.asking = redisErr.IsAsk(); !c.asking {
			return false
		}
	}
	node, known := c.store.client.Nodes()[addr]
	if known {
		c.node, c.asking = node, !moved
	}
	return known
}

func (c *confirming) runConfirmed(ctx context.Context) rueidis.RedisResult {
	client, release := c.node.Dedicate()
	defer release()
	answers := client.DoMulti(ctx, c.commands(c.store.evalsha)...)
	if unknownScript(answers[len(answers)-2].Error()) {
		answers = client.DoMulti(ctx, c.commands(c.store.eval)...)
	}
	answer, waited := answers[len(answers)-2], answers[len(answers)-1]
	if answer.Error() != nil {
		return answer
	}
	o := &c.store.opts
	have, err := waited.AsInt64()
	switch {
	case err != nil:
		return rueidis.NewErrorResult(fmt.Errorf("wait for replicas: %w", err))
	case have < int64(o.Replicas):
		return rueidis.NewErrorResult(fmt.Errorf("%d of %d replicas had it after %v (look at INFO replication, or ask for fewer)",
			have, o.Replicas, o.ReplicaTimeout))
	}
	return answer
}

// commands are the script and the wait.
func (c *confirming) commands(eval func(*script, []string, []string) rueidis.Completed) []rueidis.Completed {
	o, b := &c.store.opts, c.store.client.B()
	commands := make([]rueidis.Completed, 0, 3)
	if c.asking {
		commands = append(commands, b.Asking().Build())
	}
	return append(commands, eval(c.script, c.keys, c.args),
		b.Wait().Numreplicas(int64(o.Replicas)).Timeout(o.ReplicaTimeout.Milliseconds()).Build())
}
