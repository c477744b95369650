package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/semelhttp"
)

const statusRules = `
version: 1
routes:
  - name: pay
    match: {path: "/orders/{order}/payments"}
    key: {header: X-Request-Id}
    unknown:
      reconcile:
        get: "/orders/{order}/payments?ref={key}"
        happened_when: {status: 200}
  - name: account
    match: {path: "/accounts/{id}"}
    authorize: {get: "/session?account={id}&key={key}"}
  - name: form
    match: {path: /form}
    key: {derive: {fields: [item], window: 10s}}
  - name: open
    match: {path: /open}
    protect: false
`

// TestStatus: promises 3 and 5. The published status URL gives a caller the outcome of its request, by the rule of that request.
func TestStatus(t *testing.T) {
	t.Parallel()
	b := &bank{}
	d := openRuled(t, upstream(t, b.ServeHTTP), statusRules)
	status := func(query string, header ...string) (semelhttp.IntentStatus, reply) {
		t.Helper()
		got := d.send(t, http.MethodGet, "/.well-known/idempotency/status"+query, "", header...)
		var s semelhttp.IntentStatus
		if got.status == http.StatusOK {
			if err := json.Unmarshal([]byte(got.body), &s); err != nil {
				t.Fatalf("%v in %q", err, got.body)
			}
		}
		return s, got
	}
	pay := func(key string) reply {
		return d.send(t, http.MethodPost, "/orders/1/payments", "x", "X-Request-Id", key, "Authorization", "Bearer me")
	}
	check(t, "first", pay("k1"), 502, "outcome-unknown")
	check(t, "second", pay("k2"), 201, "")
	const about = "?method=POST&path=/orders/1/payments"
	for key, want := range map[string]string{"k1": "unknown", "k2": "completed", "k3": "absent"} {
		if s, got := status(about, "X-Request-Id", key, "Authorization", "Bearer me"); s.State != want {
			t.Errorf("%s: got %d %+v, want %s", key, got.status, s, want)
		}
		if s, _ := status(about, "X-Request-Id", key, "Authorization", "Bearer you"); s.State != "absent" {
			t.Errorf("%s: another caller sees %+v", key, s)
		}
	}
	if s, _ := status("?path=/orders/2/payments", "X-Request-Id", "k2", "Authorization", "Bearer me"); s.State != "absent" {
		t.Errorf("another path: got %+v", s)
	}
	for query, want := range map[string]struct {
		status  int
		problem string
	}{
		"?path=/open": {404, "not-protected"},
		"":            {400, "status-invalid"},
	} {
		_, got := status(query, "Idempotency-Key", "k", "Authorization", "Bearer me")
		check(t, query, got, want.status, want.problem)
	}
	_, got := status("?path=/form", "Authorization", "Bearer me")
	check(t, "a derived key", got, 400, "status-invalid")
	if s, _ := status("?path=/form", "Idempotency-Key", "k", "Authorization", "Bearer me"); s.State != "absent" {
		t.Errorf("a key in the place of a derived one: got %+v", s)
	}
	if b.commits.Load() != 2 {
		t.Errorf("the upstream committed %d times, want 2", b.commits.Load())
	}
}

// TestStatusAsksForTheRight: promise 5. Where a rule has the upstream authorise repetitions, it authorises questions too.
func TestStatusAsksForTheRight(t *testing.T) {
	t.Parallel()
	var asked atomic.Value
	var answer atomic.Int64
	answer.Store(http.StatusNoContent)
	d := open(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			asked.Store(r.URL.String() + " " + r.Header.Get("Authorization"))
			w.WriteHeader(int(answer.Load()))
			return
		}
		w.WriteHeader(http.StatusCreated)
	}), func(c *gateway.Config) { c.Rules = parse(t, statusRules) })
	me := []string{"Idempotency-Key", `"k1"`, "Authorization", "Bearer me"}
	question := "/.well-known/idempotency/status?path=/accounts/7"
	check(t, "first", d.send(t, http.MethodPost, "/accounts/7", "x", me...), 201, "")
	if got := d.send(t, http.MethodGet, question, "", me...); got.status != http.StatusOK || !strings.Contains(got.body, `"state":"completed"`) {
		t.Errorf("allowed: got %d %s", got.status, got.body)
	}
	if got, want := asked.Load(), "/session?account=7&key=k1 Bearer me"; got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
	answer.Store(http.StatusForbidden)
	for _, key := range []string{"k1", "never"} {
		got := d.send(t, http.MethodGet, question, "", "Idempotency-Key", key, "Authorization", "Bearer me")
		if got.status != http.StatusForbidden || strings.Contains(got.body, "state") {
			t.Errorf("%s, denied: got %d %s", key, got.status, got.body)
		}
	}
	answer.Store(http.StatusInternalServerError)
	check(t, "not known", d.send(t, http.MethodGet, question, "", me...), 503, "authorisation-unavailable")
}
