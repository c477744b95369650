package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel/store/internal/verb"
)

// minVersion is the first version whose scripts can be distinguished by
// what they need.
const minVersion = 7

// Check asks every primary whether records are safe there. It returns an error
// that says what to change when the server is too old, a replica, may remove
// records while they are needed, or does not let this user work; and it warns
// of what a crash would lose. [Open] calls it.
func (s *Store) Check(ctx context.Context) error {
	if err := s.enter(ctx, "check", verb.Reads); err != nil {
		return err
	}
	risks, err := s.inspect(ctx)
	if err != nil {
		return err
	}
	s.noteRisks(ctx, risks, nil)
	if s.opts.ReadOnly {
		return nil
	}
	// A fence costs nothing, and drawing one shows whether the user may write.
	if _, err := s.draw(ctx, 1, 0); err != nil {
		return s.translate("check", err)
	}
	return nil
}

// node is a server and what it says of itself.
type node struct {
	addr   string
	client rueidis.Client
	info   map[string]string // nil when the user may not ask
	risks  []risk
}

// unfit says what of the server breaks a promise.
func (n *node) unfit(format string, args ...any) error {
	return fmt.Errorf("%w: check %s: %s", errUnfit, n.addr, fmt.Sprintf(format, args...))
}

// risk notes a setting that the store accepts.
func (n *node) risk(text, change string) {
	n.risks = append(n.risks, risk{n.addr, text, change})
}

// primaries are the servers that hold records: all but the replicas of a
// cluster, which may be down without harm.
func (s *Store) primaries(ctx context.Context) (map[string]rueidis.Client, error) {
	nodes := s.client.Nodes()
	if s.draws == nil {
		return nodes, nil
	}
	var ranges []rueidis.RedisMessage
	var err error
	for _, client := range nodes { // a replica may be down
		if ranges, err = client.Do(ctx, client.B().ClusterSlots().Build()).ToArray(); err == nil {
			break
		}
	}
	if err != nil {
		return nil, s.translate("ask for CLUSTER SLOTS", err)
	}
	primaries := map[string]rueidis.Client{}
	for _, r := range ranges { // first slot, last slot, primary, replicas
		addr, err := primaryOf(r)
		if err != nil {
			return nil, s.translate("read CLUSTER SLOTS", err)
		}
		client, known := nodes[addr]
		if !known {
			return nodes, nil // the cluster calls it by another name, or the client has yet to meet it
		}
		primaries[addr] = client
	}
	return primaries, nil
}

// primaryOf reads the primary of a range of slots.
func primaryOf(r rueidis.RedisMessage) (addr string, err error) {
	fields, err := r.ToArray()
	if err != nil || len(fields) < 3 {
		return "", fmt.Errorf("a range of slots has %d fields: %w", len(fields), err)
	}
	primary, err := fields[2].ToArray()
	if err != nil || len(primary) < 2 {
		return "", fmt.Errorf("a node has %d fields: %w", len(primary), err)
	}
	host, err := primary[0].ToString()
	if err != nil {
		return "", err
	}
	port, err := primary[1].AsInt64()
	return net.JoinHostPort(host, strconv.FormatInt(port, 10)), err
}

// ask returns what a server says of itself; nil when the user may not ask.
func (s *Store) ask(ctx context.Context, addr string, client rueidis.Client) (map[string]string, error) {
	text, err := client.Do(ctx, client.B().Info().Build()).ToString()
	if code(err) == "NOPERM" {
		return nil, nil
	}
	if err != nil {
		return nil, s.translate("ask "+addr+" for INFO", err)
	}
	return parseInfo(text), nil
}

// parseInfo reads the lines name:value.
func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			info[name] = value
		}
	}
	return info
}

func (s *Store) checkNode(ctx context.Context, n *node) error {
	if n.info == nil {
		return s.checkUnknown(n)
	}
	version := n.info["redis_version"]
	major, _, _ := strings.Cut(version, ".")
	if v, err := strconv.Atoi(major); err != nil || v < minVersion {
		return n.unfit("the server's version is %q (Redis 7 or Valkey is needed: upgrade it)", version)
	}
	if s.draws == nil && n.info["redis_mode"] == "cluster" {
		return n.unfit("%s", hint("MOVED"))
	}
	if s.opts.ReadOnly {
		return nil
	}
	if n.info["role"] == "slave" {
		return n.unfit("%s: its primary is %s:%s", hint("READONLY"), n.info["master_host"], n.info["master_port"])
	}
	if err := s.checkEviction(n); err != nil {
		return err
	}
	n.riskLoss(ctx)
	return nil
}

// checkUnknown is for a server that tells nothing of itself.
func (s *Store) checkUnknown(n *node) error {
	if s.opts.ReadOnly {
		return nil
	}
	if !s.opts.AllowEviction {
		return n.unfit("this user may not ask INFO, so it is not known whether the server removes records " +
			"when its memory is full (grant it with ACL SETUSER … +info; or set allow_eviction if you know that maxmemory-policy is noeviction)")
	}
	n.risk("whether the server removes records, and what a crash loses, is not known", "grant this user +info")
	return nil
}

// checkEviction refuses a server that forgets claims and outcomes when its
// memory is full (promises 1 and 2).
func (s *Store) checkEviction(n *node) error {
	policy, known := n.info["maxmemory_policy"]
	switch {
	case policy == "noeviction":
		return nil
	case known && n.info["maxmemory"] == "0":
		n.risk("with "+policy+" the server removes records as soon as it is given a maxmemory", "set maxmemory-policy noeviction")
		return nil
	case !known:
		policy = "not known"
	}
	if s.opts.AllowEviction {
		n.risk("maxmemory-policy is "+policy+": a full server removes records, and intents are executed twice",
			"set maxmemory-policy noeviction")
		return nil
	}
	return n.unfit("maxmemory-policy is %s: a full server removes claims and outcomes, and intents are executed twice "+
		"(run: redis-cli CONFIG SET maxmemory-policy noeviction, and write it into the server's configuration; or set allow_eviction to run that risk)",
		policy)
}

// riskLoss notes what a crash of the server would lose (promise 7).
func (n *node) riskLoss(ctx context.Context) {
	const (
		executed = ": intents that were answered may be executed again"
		change   = "set appendonly yes and appendfsync always"
	)
	if n.info["aof_enabled"] != "1" {
		lost := "a crash loses everything since the last snapshot"
		if save, err := setting(ctx, n.client, "save"); err == nil && save == "" {
			lost = "the server keeps nothing on disk, and a crash or restart loses everything"
		}
		n.risk(lost+executed, change)
		return
	}
	switch fsync, err := setting(ctx, n.client, "appendfsync"); {
	case err != nil:
		n.risk("unless appendfsync is always, which the server does not tell, a crash of its host loses what it answered last"+executed, change)
	case fsync != "always":
		n.risk("with appendfsync "+fsync+" a crash of the host loses what the server answered last"+executed, change)
	}
}

var errNoSetting = errors.New("the server does not tell it")

// setting asks for one line of the server's configuration.
func setting(ctx context.Context, client rueidis.Client, name string) (string, error) {
	all, err := client.Do(ctx, client.B().ConfigGet().Parameter(name).Build()).AsStrMap()
	if err != nil {
		return "", err
	}
	value, ok := all[name]
	if !ok {
		return "", errNoSetting
	}
	return value, nil
}
