package redisstore_test

import (
	"context"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/redisstore"
	"github.com/semel-dev/semel/store/storetest"
)

// processes share a prefix. A place is a DSN.
func processes(name string, p place) storetest.Processes {
	return storetest.Processes{
		Name:  name,
		Place: p.dsn,
		Open:  func(ctx context.Context, dsn string) (semel.Store, error) { return redisstore.Open(ctx, dsn, nil) },
	}
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	for name, p := range places() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.RunProcesses(t, processes(name, p))
		})
	}
}

// Promises 1 and 2: with appendfsync always, what was acknowledged survives
// when the server is killed at any instant.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	server := testserver.StartRedis(t, &testserver.RedisOptions{AppendOnly: true})
	p := processes("single", place{addrs: func(testing.TB) []string { return []string{server.Addr()} }, query: "?prefix="})
	p.Strike = func(testing.TB) {
		server.Kill()
		server.Start()
	}
	storetest.RunProcesses(t, p)
}
