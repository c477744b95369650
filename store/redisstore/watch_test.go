package redisstore_test

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/redisstore"
)

// book is a log that is read while it is written.
type book struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (b *book) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// count counts the lines that contain a text.
func (b *book) count(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.text.String(), text)
}

// monitored opens a store that checks its server so often.
func monitored(t *testing.T, addr string, every time.Duration) (*redisstore.Store, semel.Monitor, *book) {
	t.Helper()
	b := &book{}
	s := open(t, "redis://"+addr, redisstore.WithWatch(redisstore.Options{Logger: slog.New(slog.NewTextHandler(b, nil))}, every))
	if err := s.Health(); err != nil {
		t.Fatalf("a server that was accepted is unfit: %v", err)
	}
	return s, s, b
}

func evicting(m semel.Monitor) func() bool {
	return func() bool {
		err := m.Health()
		return err != nil && strings.Contains(err.Error(), "maxmemory-policy is allkeys-lru") &&
			strings.Contains(err.Error(), "CONFIG SET maxmemory-policy noeviction")
	}
}

func fit(m semel.Monitor) func() bool { return func() bool { return m.Health() == nil } }

// Promises 1 and 2: a server that is configured to remove records while the store is
// open is noticed, and so is the repair. The log says each once.
func TestEvictionSwitchedOn(t *testing.T) {
	t.Parallel()
	server := testserver.StartRedis(t, &testserver.RedisOptions{AppendOnly: true, Conf: map[string]string{"maxmemory": "64mb"}})
	_, m, log := monitored(t, server.Addr(), time.Millisecond)
	for n := 1; n <= 2; n++ {
		command(t, server.Addr(), "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
		testserver.Eventually(t, "the store reports the policy", evicting(m))
		command(t, server.Addr(), "CONFIG", "SET", "maxmemory-policy", "noeviction")
		testserver.Eventually(t, "the store reports the repair", fit(m))
		for _, text := range []string{"breaks a promise of the store", "keeps the promises of the store again"} {
			if got := log.count(text); got != n {
				t.Errorf("the log says %q %d times after %d changes", text, got, n)
			}
		}
	}
	command(t, server.Addr(), "CONFIG", "SET", "appendfsync", "no")
	testserver.Eventually(t, "the log says what a crash loses now", func() bool { return log.count("with appendfsync no a crash") == 1 })
	if err := m.Health(); err != nil {
		t.Errorf("a risk that Open accepts makes the server unfit: %v", err)
	}
}

// A connection that replaces a broken one may be to a server with other settings:
// it is checked at once, and not when a minute is over.
func TestEvictionAfterReconnect(t *testing.T) {
	t.Parallel()
	server := testserver.StartRedis(t, &testserver.RedisOptions{AppendOnly: true, Conf: map[string]string{"maxmemory": "64mb"}})
	proxy := testserver.NewProxy(t, server.Addr())
	s, m, _ := monitored(t, proxy.Addr(), time.Hour)
	command(t, server.Addr(), "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	proxy.Cut()
	testserver.Eventually(t, "the store reports the policy", func() bool {
		_, _ = s.Lookup(t.Context(), semel.Digest{}) // it meets the broken connection, or dials
		return evicting(m)()
	})
}

// A server that became a replica refuses claims; a check says why.
func TestPrimaryDemoted(t *testing.T) {
	t.Parallel()
	server := testserver.StartRedis(t, &testserver.RedisOptions{AppendOnly: true})
	_, m, _ := monitored(t, server.Addr(), time.Millisecond)
	command(t, server.Addr(), "REPLICAOF", "127.0.0.1", "1")
	testserver.Eventually(t, "the store reports the replica", func() bool { return m.Health() != nil })
	command(t, server.Addr(), "REPLICAOF", "NO", "ONE")
	testserver.Eventually(t, "the store reports the primary", fit(m))
}
