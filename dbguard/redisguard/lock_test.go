package redisguard_test

import (
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/dbguard/redisguard"
	"github.com/semel-dev/semel/internal/locktest"
	"github.com/semel-dev/semel/internal/testserver"
)

func connect(tb testing.TB, addrs ...string) rueidis.Client {
	tb.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: addrs, DisableCache: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	return client
}

func TestLocks(t *testing.T) {
	t.Parallel()
	client := connect(t, testserver.Redis(t))
	locktest.Run(t, func(tb testing.TB) dbguard.LockStore {
		tb.Helper()
		return redisguard.NewLocks(client, testserver.RedisPrefix(tb))
	})
}

// Fences go on growing where the server has lost what it knew: by a flush, and
// by a restart without a file.
func TestFencesGrowOverLoss(t *testing.T) {
	t.Parallel()
	server := testserver.StartRedis(t, nil)
	client := connect(t, server.Addr())
	locks := redisguard.NewLocks(client, "")
	var last semel.Fence
	next := func(what string) {
		t.Helper()
		fence, won, err := locks.Acquire(t.Context(), "n", semel.Owner{byte(last % 251), byte(last >> 8), 1}, time.Hour)
		if err != nil || !won || fence <= last {
			t.Fatalf("after %s: Acquire = %d, %v, %v, want more than %d", what, fence, won, err, last)
		}
		last = fence
	}
	next("the start")
	for range 5 {
		if err := client.Do(t.Context(), client.B().Flushall().Build()).Error(); err != nil {
			t.Fatal(err)
		}
		next("a flush")
	}
	server.Kill()
	server.Start()
	locks = redisguard.NewLocks(connect(t, server.Addr()), "")
	next("a restart")
}
