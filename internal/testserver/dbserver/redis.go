package dbserver

import (
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
	// ReplicaOf is the server this one replicates, or nil.
	ReplicaOf *Redis
	// Conf is added to redis.conf.
	Conf map[string]string
	// Clock, when not nil, is the server's clock instead of the machine's.
	Clock *Clock
}

// Redis is a Redis (or Valkey) server.
type Redis struct{ process *process }

// Redis starts a Redis server without a password.
func (h *Home) Redis(ctx context.Context, o *RedisOptions) (*Redis, error) {
	if o == nil {
		o = &RedisOptions{}
	}
	path, err := find("redis-server", redisHint)
	if err != nil {
		var valkey error
		if path, valkey = find("valkey-server", redisHint); valkey != nil {
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
		"appendfsync":      or(o.Fsync, "always"),
		"maxmemory-policy": or(o.MaxMemoryPolicy, "noeviction"),
	}
	if o.ReplicaOf != nil {
		conf["replicaof"] = strings.Replace(o.ReplicaOf.Addr(), ":", " ", 1)
		conf["repl-diskless-sync-delay"] = "0"
	}
	maps.Copy(conf, o.Conf)
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
	if err := s.process.launch(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Addr is host:port. It stays the same over restarts.
func (s *Redis) Addr() string { return address(s.process.port) }

// Kill sends SIGKILL and waits until the server has gone.
func (s *Redis) Kill() error { return s.process.kill() }

// Stop shuts the server down.
func (s *Redis) Stop() error { return s.process.stop() }

// Start starts the server again, on the same port and data.
func (s *Redis) Start(ctx context.Context) error { return s.process.start(ctx) }

// Close ends the server at once and removes its data.
func (s *Redis) Close() error { return s.process.discard() }

// Log is the end of what the server wrote.
func (s *Redis) Log() string { return s.process.logTail() }

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

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
