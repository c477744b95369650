package dbserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redis/rueidis"
)

const redisHint = "apt-get install redis-server"

// RedisOptions are the options of [Home.Redis]. Nil means all defaults.
type RedisOptions struct {
	// AppendOnly keeps an append-only file; without it nothing survives the end of the server.
	AppendOnly bool
	// Fsync is appendfsync: always, everysec or no. Default: always.
	Fsync string
	// MaxMemoryPolicy is maxmemory-policy. Default: noeviction.
	MaxMemoryPolicy string
	// ReplicaOf is the address of the server that this one replicates, or empty.
	ReplicaOf string
	// Conf is added to redis.conf.
	Conf map[string]string
	// Clock, when not nil, is the server's clock instead of the machine's.
	Clock *Clock
}

// Redis is a Redis (or Valkey) server.
type Redis struct{ *process }

// Redis starts a Redis server without a password.
func (h *Home) Redis(ctx context.Context, o *RedisOptions) (*Redis, error) {
	if o == nil {
		o = &RedisOptions{}
	}
	path, err := findIn(EnvRedisBin, "redis-server", redisHint)
	if err != nil {
		var valkey error
		if path, valkey = findIn(EnvRedisBin, "valkey-server", redisHint); valkey != nil {
			return nil, err
		}
	}
	as, err := accountFor("redis", "valkey")
	if err != nil {
		return nil, err
	}
	dir, err := h.room("redis", as)
	if err != nil {
		return nil, err
	}
	conf := map[string]string{
		"bind": host, "protected-mode": "no", "dir": dir, "save": `""`,
		"appendonly":       map[bool]string{true: "yes", false: "no"}[o.AppendOnly],
		"appendfsync":      cmp.Or(o.Fsync, "always"),
		"maxmemory-policy": cmp.Or(o.MaxMemoryPolicy, "noeviction"),
	}
	if o.ReplicaOf != "" {
		conf["replicaof"] = strings.Replace(o.ReplicaOf, ":", " ", 1)
		conf["repl-diskless-sync-delay"] = "0"
	}
	if err := addConf(conf, EnvRedisConf, o.Conf); err != nil {
		return nil, err
	}
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(conf)) {
		fmt.Fprintf(&lines, "%s %s\n", name, conf[name])
	}
	file := filepath.Join(dir, "redis.conf")
	if err := errors.Join(os.WriteFile(file, []byte(lines.String()), 0o600), as.own(file)); err != nil {
		return nil, fmt.Errorf("configure Redis: %w", err)
	}
	s := &Redis{}
	s.process = &process{
		home: h, as: as, dir: dir, path: path, env: o.Clock.environment(), stopSignal: "TERM", endSignal: "KILL",
		args:  func(port int) []string { return []string{file, "--port", fmt.Sprint(port)} },
		ready: func(ctx context.Context) error { _, err := s.Do(ctx, "PING"); return err },
	}
	return s, s.launch(ctx)
}

// Promote makes a replica a master of its own.
func (s *Redis) Promote(ctx context.Context) error {
	_, err := s.Do(ctx, "REPLICAOF", "NO", "ONE")
	return err
}

// Do runs one command, on a connection of its own.
func (s *Redis) Do(ctx context.Context, args ...string) (rueidis.RedisMessage, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.Addr()}, ForceSingleClient: true, DisableCache: true, DisableRetry: true,
	})
	if err != nil {
		return rueidis.RedisMessage{}, err
	}
	defer client.Close()
	return client.Do(ctx, client.B().Arbitrary(args...).Build()).ToMessage()
}
