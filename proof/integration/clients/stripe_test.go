package clients_test

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// sdk is an SDK of Stripe, which repeats a request up to three times.
type sdk struct {
	name string
	post func(tb testing.TB, url string, keys ...string) []told
	// again reports whether it repeats a refusal that says that it may be repeated.
	again bool
}

func sdks() []sdk {
	return []sdk{
		{"stripe-node", func(tb testing.TB, url string, keys ...string) []told {
			tb.Helper()
			return node(tb, "stripe-node", url, keys...)
		}, true},
		{"stripe-go", func(tb testing.TB, url string, keys ...string) []told {
			tb.Helper()
			all := make([]told, len(keys))
			var posting sync.WaitGroup
			for i := range keys {
				posting.Go(func() { all[i] = withStripeGo(tb, url, keys[i]) })
			}
			posting.Wait()
			return all
		}, false},
	}
}

// TestStripeRefused: every refusal of the gateway is an error for the SDKs, and one that stays the same is not repeated.
func TestStripeRefused(t *testing.T) {
	t.Parallel()
	other := func(t *testing.T, f *front, key string) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, charges, nil)
		r.Host = strings.TrimSuffix(strings.TrimPrefix(f.url, "http://"), charges)
		r.Header.Set("Authorization", "Bearer sk_test_x")
		r.Header.Set("Idempotency-Key", key)
		if w := f.ask(&request{r, []byte("amount=999")}); w.Code != http.StatusCreated {
			t.Fatalf("got %d, want the first charge", w.Code)
		}
	}
	running := func(t *testing.T, f *front, key string) {
		t.Helper()
		f.meet(key, func(f *front, _ http.ResponseWriter, r *request, attempt int) bool {
			if attempt == 1 {
				t.Cleanup(f.app.hold(key))
				go f.ask(r)
				f.app.await(key)
			}
			return false
		})
	}
	nothing := func(*testing.T, *front, string) {}
	for name, c := range map[string]struct {
		before    func(*testing.T, *front, string)
		key       string
		status    int
		retryable bool
		says      string
	}{
		"key-reused":      {other, "reused", http.StatusUnprocessableEntity, false, "Use a new key"},
		"outcome-unknown": {nothing, "unknown", http.StatusBadGateway, false, "did not answer"},
		"in-flight":       {running, "running", http.StatusConflict, true, "not started a second time"},
	} {
		for _, s := range sdks() {
			t.Run(s.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				f := newFront(t, http.StatusConflict)
				c.before(t, f, c.key)
				got := s.post(t, f.url, c.key)[0]
				if got.Status != c.status || !strings.Contains(got.Error, c.says) {
					t.Errorf("got %+v, want an error with %d that says %q", got, c.status, c.says)
				}
				want := 1
				if c.retryable && s.again {
					want = 4
				}
				if n := len(f.attempts(c.key)); n != want {
					t.Errorf("the request came %d times, want %d", n, want)
				}
				if n := f.app.created(c.key); n > 1 {
					t.Errorf("%d charges were created, want 1 at most", n)
				}
			})
		}
	}
}

// TestStripeStorm: of 200 charges every fifth answer is lost. The SDKs get each charge, and none that was not made.
func TestStripeStorm(t *testing.T) {
	t.Parallel()
	const charged = 200
	lost := func(f *front, w http.ResponseWriter, r *request, attempt int) bool {
		h := fnv.New32a()
		_, _ = fmt.Fprint(h, r.Header.Get("Idempotency-Key"), attempt)
		if attempt > 2 || h.Sum32()%5 != 0 {
			return false
		}
		f.ask(r)
		drop(w)
		return true
	}
	for _, s := range sdks() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			f := newFront(t, http.StatusConflict)
			keys := make([]string, charged)
			for i := range keys {
				keys[i] = fmt.Sprintf("charge-%d", i)
				f.meet(keys[i], lost)
			}
			attempts := 0
			for i, got := range s.post(t, f.url, keys...) {
				key := keys[i]
				attempts += len(f.attempts(key))
				if got.Status != http.StatusCreated || !isOrder(got.Body, key) || f.app.created(key) != 1 {
					t.Errorf("%s: got %+v and %d effects, want the one charge", key, got, f.app.created(key))
				}
			}
			if attempts < charged+charged/10 {
				t.Errorf("there were %d attempts: hardly an answer was lost", attempts)
			}
		})
	}
}
