package slowstore_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/internal/testserver"
)

const (
	callers = 30
	// storeTimeout is short, so that the tests are.
	storeTimeout = time.Second
	patience     = time.Minute
)

// held are the stores, each behind a proxy.
func held() map[string]func(*testing.T) (dsn string, proxy *testserver.Proxy) {
	return map[string]func(*testing.T) (string, *testserver.Proxy){
		"postgres": func(t *testing.T) (string, *testserver.Proxy) {
			t.Helper()
			u, err := url.Parse(testserver.PostgresDatabase(t))
			if err != nil {
				t.Fatal(err)
			}
			proxy := testserver.NewProxy(t, u.Host)
			u.Host = proxy.Addr()
			return u.String(), proxy
		},
		"mysql": func(t *testing.T) (string, *testserver.Proxy) {
			t.Helper()
			config, err := mysql.ParseDSN(testserver.MySQLDatabase(t))
			if err != nil {
				t.Fatal(err)
			}
			proxy := testserver.NewProxy(t, config.Addr)
			u := url.URL{Scheme: "mysql", User: url.UserPassword(config.User, config.Passwd), Host: proxy.Addr(), Path: config.DBName}
			return u.String(), proxy
		},
		"redis": func(t *testing.T) (string, *testserver.Proxy) {
			t.Helper()
			proxy := testserver.NewProxy(t, testserver.Redis(t))
			return fmt.Sprintf("redis://%s?prefix=slow-%d", proxy.Addr(), time.Now().UnixNano()), proxy
		},
	}
}

// shop is an upstream that counts what it was asked for.
type shop struct {
	mu      sync.Mutex // guards orders
	orders  map[string]int
	started chan struct{} // told when a slow order begins
	goOn    chan struct{} // a slow order waits for it
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.orders[string(body)]++
	n := s.orders[string(body)]
	s.mu.Unlock()
	if strings.HasPrefix(string(body), "slow") {
		s.started <- struct{}{}
		<-s.goOn
	}
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, "%s, execution %d", body, n)
}

func (s *shop) executed(order string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orders[order]
}

// open starts a gateway on the store before the shop.
func open(t *testing.T, dsn string, storeTimeout time.Duration) (*shop, *httptest.Server) {
	t.Helper()
	s := &shop{orders: map[string]int{}, started: make(chan struct{}, 1), goOn: make(chan struct{})}
	upstream := httptest.NewServer(s)
	t.Cleanup(upstream.Close)
	store, err := openstore.Open(t.Context(), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	g, err := gateway.New(&gateway.Config{
		Upstream: upstream.URL, Store: store, Guard: semel.Options{StoreTimeout: storeTimeout, SweepEvery: -1},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	front := httptest.NewServer(g.Handler())
	t.Cleanup(front.Close)
	return s, front
}

// answer holds a caller's reply.
type answer struct {
	status int
	header http.Header
	body   string
}

func order(ctx context.Context, front *httptest.Server, name string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, front.URL+"/orders", strings.NewReader(name))
	if err != nil {
		return answer{}, err
	}
	r.Header["idempotency-key"] = []string{name} // net/http would repeat it on its own
	res, err := front.Client().Do(r)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(body)}, err
}

// until sends the order again and again until it is answered with the status.
func until(t *testing.T, front *httptest.Server, name string, status int) answer {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		got, err := order(t.Context(), front, name)
		if err == nil && got.status == status {
			return got
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: got %d %s, %v; want %d", name, got.status, got.body, err, status)
		}
	}
}

// TestStalledStore (promises 3, 8 and 10): while the store does not answer,
// every caller gets 503 and nothing executes; afterwards each order executes
// once.
func TestStalledStore(t *testing.T) {
	t.Parallel()
	for name, hold := range held() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn, proxy := hold(t)
			s, front := open(t, dsn, storeTimeout)
			until(t, front, "before", http.StatusCreated)
			proxy.Stall()
			var all sync.WaitGroup
			for i := range callers {
				all.Go(func() {
					got, err := order(t.Context(), front, fmt.Sprint("order ", i))
					if err != nil || got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
						t.Errorf("while the store is silent: got %d %s, %v", got.status, got.body, err)
					}
				})
			}
			all.Wait()
			for i := range callers {
				if n := s.executed(fmt.Sprint("order ", i)); n != 0 {
					t.Errorf("promise 10: order %d was executed %d times without a claim", i, n)
				}
			}
			proxy.Clear()
			for i := range callers {
				first := until(t, front, fmt.Sprint("order ", i), http.StatusCreated)
				again := until(t, front, fmt.Sprint("order ", i), http.StatusCreated)
				if first.body != again.body || s.executed(fmt.Sprint("order ", i)) != 1 {
					t.Errorf("order %d: %q, then %q", i, first.body, again.body)
				}
			}
		})
	}
}

// TestStoreStallsWhileItRuns (promises 3 and 7): the caller gets the answer,
// marked as not recorded, and a retry does not execute.
func TestStoreStallsWhileItRuns(t *testing.T) {
	t.Parallel()
	for name, hold := range held() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn, proxy := hold(t)
			s, front := open(t, dsn, storeTimeout)
			done := make(chan answer, 1)
			go func() {
				got, err := order(t.Context(), front, "slow order")
				if err != nil {
					t.Error(err)
				}
				done <- got
			}()
			<-s.started
			proxy.Stall()
			close(s.goOn)
			got := <-done
			if got.status != http.StatusCreated || got.header.Get("Idempotency-Status") != "not-stored" {
				t.Errorf("got %d %q, want the answer, marked not-stored", got.status, got.header.Get("Idempotency-Status"))
			}
			proxy.Clear()
			// Until the lease ends it reads as in flight; never as free.
			until(t, front, "slow order", http.StatusConflict)
			if n := s.executed("slow order"); n != 1 {
				t.Errorf("promise 3: it was executed %d times", n)
			}
		})
	}
}

// TestSlowStore: a store that takes its time is waited for.
func TestSlowStore(t *testing.T) {
	t.Parallel()
	for name, hold := range held() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn, proxy := hold(t)
			s, front := open(t, dsn, patience)
			proxy.Latency(50 * time.Millisecond)
			var all sync.WaitGroup
			for range callers {
				all.Go(func() {
					if got, err := order(t.Context(), front, "one order"); err != nil || got.status != http.StatusCreated {
						t.Errorf("got %d %s, %v", got.status, got.body, err)
					}
				})
			}
			all.Wait()
			if n := s.executed("one order"); n != 1 {
				t.Errorf("promise 1: it was executed %d times", n)
			}
		})
	}
}
