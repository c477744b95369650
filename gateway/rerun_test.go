package gateway_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel/gateway"
)

// TestLostBehindTheUpstream (promise 3): 502 and 504 of something between gateway
// and application say that an answer was lost, not that nothing happened.
func TestLostBehindTheUpstream(t *testing.T) {
	t.Parallel()
	for status, runs := range map[int]int32{502: 1, 504: 1, 524: 1, 999: 1, 500: 3, 503: 3} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			var effects atomic.Int32
			d := open(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				effects.Add(1)
				w.WriteHeader(status)
			}), nil)
			send := func() reply { return d.send(t, http.MethodPost, "/lb", "a=1", "Idempotency-Key", "k") }
			first := send()
			check(t, "first", first, status, "")
			for range 2 {
				if got := send(); runs == 1 {
					check(t, "repeated", got, 409, "outcome-unknown")
				}
			}
			if got := effects.Load(); got != runs {
				t.Errorf("%d effects, want %d", got, runs)
			}
			if word := first.word(); (word == "unknown") != (runs == 1) {
				t.Errorf("Idempotency-Status %q", word)
			}
		})
	}
}

// TestEnvoysWordBehindTheUpstream (promise 3): the 503 by which Envoy reports a reset connection leaves the outcome unknown.
func TestEnvoysWordBehindTheUpstream(t *testing.T) {
	t.Parallel()
	var effects atomic.Int32
	d := open(t, upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		effects.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "upstream connect error or disconnect/reset before headers. reset reason: connection termination")
	}), nil)
	check(t, "first", d.send(t, http.MethodPost, "/lb", "a=1", "Idempotency-Key", "k"), http.StatusServiceUnavailable, "")
	check(t, "repeated", d.send(t, http.MethodPost, "/lb", "a=1", "Idempotency-Key", "k"), http.StatusConflict, "outcome-unknown")
	if got := effects.Load(); got != 1 {
		t.Errorf("%d effects, want 1", got)
	}
}

// TestRerunIsNoticed: where a failure releases, the log says once for each route
// that an intent ran again after one. What was never sent is not such a failure.
func TestRerunIsNoticed(t *testing.T) {
	t.Parallel()
	var lines safeBuffer
	var fails atomic.Bool
	fails.Store(true)
	d := open(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if fails.Load() {
			status := http.StatusInternalServerError
			if r.URL.Path == "/busy" {
				status = http.StatusTooManyRequests
			}
			w.WriteHeader(status)
		}
	}), func(c *gateway.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&lines, nil))
		c.Rules = parse(t, `
version: 1
routes:
  - {name: orders, match: {path: /orders}}
  - {name: carts, match: {path: /carts}}
  - {name: busy, match: {path: /busy}}
  - {name: payments, match: {path: /payments}, preset: payments}
`)
	})
	for _, path := range []string{"/orders", "/carts", "/busy", "/payments"} {
		for _, key := range []string{"a", "b"} {
			fails.Store(true)
			d.send(t, http.MethodPost, path, "", "Idempotency-Key", key)
			fails.Store(false)
			d.send(t, http.MethodPost, path, "", "Idempotency-Key", key)
		}
	}
	d.until(t, `semel_requests_total{outcome="unknown",route="payments"} 4`)
	text := lines.String()
	for route, want := range map[string]int{"orders": 1, "carts": 1, "busy": 0, "payments": 0} {
		got := 0
		for line := range strings.SplitSeq(text, "\n") {
			if strings.Contains(line, "executed again") && strings.Contains(line, "route="+route) {
				got++
			}
		}
		if got != want {
			t.Errorf("route %s: noticed %d times, want %d:\n%s", route, got, want, text)
		}
	}
	if n := strings.Count(text, "preset: payments without unknown.reconcile"); n != 1 {
		t.Errorf("the start warned %d times of a preset without a question, want once", n)
	}
}
