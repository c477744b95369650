package semelhttp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/semelhttp"
)

// wish is a request with what may tell it from another one.
type wish struct{ caller, method, host, target, key, body string }

// TestNames proves docs/names.md.
func TestNames(t *testing.T) {
	t.Parallel()
	first := wish{"ann", http.MethodPost, "a.example", "/orders", "k1", "1 pizza"}
	other := func(change func(*wish)) claimtest.Proof {
		second := first
		change(&second)
		return func(t *testing.T) (int, int) {
			t.Helper()
			return askBoth(t, first, second)
		}
	}
	claimtest.Names(t, "HTTP", map[string]claimtest.Proof{
		"caller":     other(func(w *wish) { w.caller = "bo" }),
		"method":     other(func(w *wish) { w.method = http.MethodPatch }),
		"host":       other(func(w *wish) { w.host = "b.example" }),
		"path":       other(func(w *wish) { w.target = "/invoices" }),
		"key":        other(func(w *wish) { w.key = "k2" }),
		"sent again": other(func(*wish) {}),
		"body":       other(func(w *wish) { w.body = "2 pizzas" }),
		"query":      other(func(w *wish) { w.target += "?express=1" }),
	})
}

func askBoth(t *testing.T, wishes ...wish) (ran, refused int) {
	t.Helper()
	var runs atomic.Int32
	d := newDoor(t, doorOptions{scope: semelhttp.ScopeBy(func(r *http.Request) string { return r.Header.Get("X-User") })})
	handler := d.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		runs.Add(1)
		w.WriteHeader(http.StatusCreated)
	}))
	for _, w := range wishes {
		r := httptest.NewRequestWithContext(t.Context(), w.method, "http://"+w.host+w.target, strings.NewReader(w.body))
		r.Header.Set("X-User", w.caller)
		r.Header.Set("Idempotency-Key", w.key)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		switch answer.Code {
		case http.StatusCreated:
		case http.StatusUnprocessableEntity:
			refused++
		default:
			t.Errorf("got %d: %s", answer.Code, answer.Body)
		}
	}
	return int(runs.Load()), refused
}
