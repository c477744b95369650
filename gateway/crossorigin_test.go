package gateway_test

import (
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/gateway"
)

// originShop is an application that allows pages of one origin.
type originShop struct{ effects, preflights atomic.Int32 }

const (
	pageOrigin = "https://page.example"
	evilOrigin = "https://evil.example"
)

func (s *originShop) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if r.Header.Get("Origin") == pageOrigin {
		h.Set("Access-Control-Allow-Origin", pageOrigin)
		h.Set("Access-Control-Allow-Credentials", "true")
	}
	if r.Method == http.MethodOptions {
		s.preflights.Add(1)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if r.Method == http.MethodGet {
		panic(http.ErrAbortHandler)
	}
	s.effects.Add(1)
	w.WriteHeader(http.StatusCreated)
}

// TestPagesOfOtherOrigins (promise 5): every answer of the gateway's own lets the page read it that the application lets, and no other.
func TestPagesOfOtherOrigins(t *testing.T) {
	t.Parallel()
	var shop originShop
	d := open(t, upstream(t, shop.serve), nil)
	type ask struct{ method, path, key, body string }
	asks := []struct {
		ask
		status int
		expose string
	}{
		{ask{http.MethodPost, "/orders", "k1", "a"}, 201, "Idempotency-Status"},
		{ask{http.MethodPost, "/orders", "k1", "a"}, 201, "Idempotency-Status, Idempotent-Replayed"},
		{ask{http.MethodPost, "/orders", "k1", "b"}, 422, "Retry-After"},
		{ask{http.MethodPost, "/other", "x,y", "b"}, 400, "Retry-After"},
		{ask{"post", "/orders", "k1", "a"}, 400, ""}, // ambiguous
		{ask{http.MethodGet, "/orders", "k1", ""}, 502, "Retry-After"},
		{ask{http.MethodGet, "/.well-known/idempotency/status?method=POST&path=/orders", "k1", ""}, 200, "Retry-After"},
	}
	for _, tt := range asks {
		for origin, want := range map[string]string{pageOrigin: pageOrigin, evilOrigin: "", "": ""} {
			header := []string{"Idempotency-Key", tt.key}
			if origin != "" {
				header = append(header, "Origin", origin)
			}
			if origin != pageOrigin && tt.status == 201 && shop.effects.Load() == 0 {
				continue
			}
			got := d.send(t, tt.method, tt.path, tt.body, header...)
			if got.status != tt.status {
				t.Errorf("%v from %q: got %d %s", tt.ask, origin, got.status, got.body)
			}
			expose := ""
			if want != "" {
				expose = tt.expose
			}
			h := got.header
			if diff := cmp.Diff([]string{want, expose}, []string{h.Get("Access-Control-Allow-Origin"), h.Get("Access-Control-Expose-Headers")}); diff != "" &&
				(want == "" || got.word() != "replayed" || h.Get("Access-Control-Allow-Origin") != want) {
				t.Errorf("%v from %q (-want +got):\n%s", tt.ask, origin, diff)
			}
			if want != "" && (h.Get("Access-Control-Allow-Credentials") != "true" || !strings.Contains(strings.Join(h.Values("Vary"), ","), "Origin") && got.word() != "executed") {
				t.Errorf("%v: got %v", tt.ask, h)
			}
		}
	}
	if got := shop.effects.Load(); got != 1 {
		t.Errorf("%d effects, want 1", got)
	}
}

// TestPagesOfTenants (promise 5): what one tenant allows a page of another origin says nothing about another tenant.
func TestPagesOfTenants(t *testing.T) {
	t.Parallel()
	d := open(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Forwarded-Host") == "a.test" {
			w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		}
	}), func(c *gateway.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")} })
	for range 2 {
		for host, want := range map[string]string{"a.test": pageOrigin, "b.test": ""} {
			got := d.send(t, http.MethodPost, "/orders", "a", "Idempotency-Key", "k", "Origin", pageOrigin, "X-Forwarded-Host", host)
			if allowed := got.header.Get("Access-Control-Allow-Origin"); allowed != want {
				t.Errorf("%s, %s: got %q, want %q", host, got.word(), allowed, want)
			}
		}
	}
}

// TestApplicationIsAskedOnce: what it allows is asked for where it has not said so, and remembered.
func TestApplicationIsAskedOnce(t *testing.T) {
	t.Parallel()
	var shop originShop
	d := open(t, upstream(t, shop.serve), nil)
	for range 2 { // its answer says so
		d.send(t, http.MethodPost, "/answered", "a", "Idempotency-Key", "k", "Origin", pageOrigin)
	}
	for range 3 {
		got := d.send(t, http.MethodPost, "/orders", "a", "Idempotency-Key", "x,y", "Origin", pageOrigin)
		if got.header.Get("Access-Control-Allow-Origin") != pageOrigin {
			t.Errorf("got %v", got.header)
		}
		d.send(t, http.MethodPost, "/orders", "a", "Idempotency-Key", "x,y", "Origin", d.url) // a page of the same origin
	}
	if got := shop.preflights.Load(); got != 1 {
		t.Errorf("asked %d times, want once", got)
	}
}

// TestUnreachableApplicationGrantsNothing: the page sees that it failed, no more.
func TestUnreachableApplicationGrantsNothing(t *testing.T) {
	t.Parallel()
	d := open(t, "http://127.0.0.1:1", nil)
	got := d.send(t, http.MethodPost, "/orders", "a", "Idempotency-Key", "k", "Origin", pageOrigin)
	if got.status != http.StatusBadGateway || got.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("got %d %v", got.status, got.header)
	}
}

// TestNextTellsPagesOfOtherOrigins: behind another server's handler as behind a proxy.
func TestNextTellsPagesOfOtherOrigins(t *testing.T) {
	t.Parallel()
	var shop originShop
	d := open(t, "", func(c *gateway.Config) {
		c.Next = func(w http.ResponseWriter, r *http.Request) error { shop.serve(w, r); return nil }
	})
	d.send(t, http.MethodPost, "/orders", "a", "Idempotency-Key", "k", "Origin", pageOrigin)
	for body, status := range map[string]int{"a": 201, "b": 422} {
		got := d.send(t, http.MethodPost, "/orders", body, "Idempotency-Key", "k", "Origin", pageOrigin)
		if got.status != status || got.header.Get("Access-Control-Allow-Origin") != pageOrigin {
			t.Errorf("got %d %v", got.status, got.header)
		}
		if got := d.send(t, http.MethodPost, "/orders", body, "Idempotency-Key", "k", "Origin", evilOrigin); got.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("another origin: got %v", got.header)
		}
	}
}
