package command

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/internal/testserver"
)

// TestReadyzSeesEviction: if a Redis server is configured to evict records while the gateway runs, /readyz fails until
// that is undone, and the log says what to do (promises 1 and 2).
func TestReadyzSeesEviction(t *testing.T) {
	t.Parallel()
	server := testserver.StartRedis(t, &testserver.RedisOptions{AppendOnly: true, Conf: map[string]string{"maxmemory": "64mb"}})
	proxy := testserver.NewProxy(t, server.Addr())
	var log lockedBuffer
	g := onRedis(t, proxy.Addr(), &log)
	admin := g.AdminHandler()
	ready := func() int {
		w := httptest.NewRecorder()
		admin.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody))
		return w.Code
	}
	if got := ready(); got != http.StatusOK {
		t.Fatalf("at the start: %d, log %s", got, log.String())
	}
	for _, step := range []struct {
		policy string
		want   int
		log    string
	}{
		{"allkeys-random", http.StatusServiceUnavailable, "maxmemory-policy noeviction"},
		{"noeviction", http.StatusOK, "keeps the promises of the store again"},
	} {
		setConfig(t, server.Addr(), "maxmemory-policy", step.policy)
		proxy.Cut() // the server is checked again on the next connection
		deadline := time.Now().Add(20 * time.Second)
		// A brief failure is the broken connection itself: only the log shows that it is the policy.
		for ready() != step.want || !strings.Contains(log.String(), step.log) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: /readyz is %d, want %d and %q in the log: %s", step.policy, ready(), step.want, step.log, log.String())
			}
		}
	}
}

// TestReadyzSeesRefusedClaims: a server that answers questions and takes no claims makes /readyz fail from the first caller that it
// refuses, and until it takes claims again, whether or not callers come meanwhile (promise 8).
func TestReadyzSeesRefusedClaims(t *testing.T) {
	t.Parallel()
	server := testserver.StartRedis(t, &testserver.RedisOptions{AppendOnly: true})
	var log lockedBuffer
	g := onRedis(t, server.Addr(), &log)
	asked := func(h http.Handler, method, path string) int {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
		r.Header.Set("Idempotency-Key", "k")
		h.ServeHTTP(w, r)
		return w.Code
	}
	want := func(what string, want, got int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %d, want %d; log %s", what, got, want, log.String())
		}
	}
	want("at the start", http.StatusOK, asked(g.AdminHandler(), http.MethodGet, "/readyz"))
	setConfig(t, server.Addr(), "min-replicas-to-write", "1")
	want("a caller", http.StatusServiceUnavailable, asked(g.Handler(), http.MethodPost, "/"))
	want("after it", http.StatusServiceUnavailable, asked(g.AdminHandler(), http.MethodGet, "/readyz"))
	setConfig(t, server.Addr(), "min-replicas-to-write", "0")
	want("at the end", http.StatusOK, asked(g.AdminHandler(), http.MethodGet, "/readyz"))
}

// onRedis is a gateway on a store in Redis.
func onRedis(t *testing.T, addr string, log io.Writer) *gateway.Gateway {
	t.Helper()
	logger := slog.New(slog.NewTextHandler(log, nil))
	store, err := openstore.Open(t.Context(), "redis://"+addr, &openstore.Options{Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { noError(t, store.Close()) })
	g, err := gateway.New(&gateway.Config{Upstream: "http://127.0.0.1:1", Store: store, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { noError(t, g.Close()) })
	return g
}

func setConfig(t *testing.T, addr, name, value string) {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	noError(t, client.Do(t.Context(), client.B().ConfigSet().ParameterValue().ParameterValue(name, value).Build()).Error())
}

// lockedBuffer is a log that can be read while it is written.
type lockedBuffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

var _ io.Writer = (*lockedBuffer)(nil)

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
