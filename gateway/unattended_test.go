package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/memstore"
)

const paymentsAlone = `
version: 1
routes:
  - name: pay
    match: {path: "/orders/{order}/payments"}
    unknown:
      reconcile:
        get: "/orders/{order}/payments?ref={key}"
        happened_when: {status: 200}
        absent_after: 1m
        background: {authorization_env: SEMEL_TEST_BANK}
`

// TestReconcileInBackground (promise 3): an unknown outcome is found out though without a request, with the gateway's own
// credentials, and the caller who comes back later gets the answer.
func TestReconcileInBackground(t *testing.T) {
	t.Setenv("SEMEL_TEST_BANK", "Bearer semel's own")
	b := &bank{asked: make(chan string, 1)}
	b.will(200, `{"state":"paid"}`)
	shared := store(t)
	reader := must.Get(semel.New(shared, &semel.Options{SweepEvery: -1}))
	t.Cleanup(func() { _ = reader.Close() })
	trail := must.Get(operator.New(reader, nil))
	d := open(t, upstream(t, b.ServeHTTP), func(c *gateway.Config) {
		c.Rules, c.Store = parse(t, paymentsAlone), shared
		c.Background = operator.Unattended{Every: time.Millisecond, MinPause: time.Millisecond}
	})
	pay := func() reply {
		return d.send(t, "POST", "/orders/o%2F1/payments", "x", "Idempotency-Key", `"k 1"`, "Authorization", "Bearer me", "Host", "shop.test")
	}
	check(t, "first", pay(), 502, "outcome-unknown")
	if got, want := receive(t, b.asked), "shop.test /orders/o%2F1/payments?ref=k+1 Bearer semel's own "; got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
	var entries []operator.Entry
	deadline := time.Now().Add(patience)
	for ; len(entries) == 0; time.Sleep(time.Millisecond) {
		page, err := trail.Audit(t.Context(), operator.AuditParams{})
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("no entry in the audit trail: %v", err)
		}
		entries = page.Entries
	}
	if e := entries[0]; e.Act != "reconcile" || e.As != semel.StateCompleted || e.Name != "k 1" {
		t.Errorf("the audit trail says %+v", e)
	}
	got := pay()
	check(t, "later", got, 200, `{"state":"paid"}`)
	if got.word() != "replayed" || b.commits.Load() != 1 {
		t.Errorf("the upstream committed %d times, header %v", b.commits.Load(), got.header)
	}
}

// TestBackgroundConfig: New reports a config that cannot work.
func TestBackgroundConfig(t *testing.T) {
	for name, tt := range map[string]struct {
		env  string
		hide bool
		want string
	}{
		"no credentials": {"", false, "SEMEL_TEST_BANK"},
		"hidden keys":    {"Bearer x", true, "hide-keys"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SEMEL_TEST_BANK", tt.env)
			config := &gateway.Config{Upstream: "http://127.0.0.1:1", Store: memstore.New(nil), Rules: parse(t, paymentsAlone)}
			config.Guard.HideKeys = tt.hide
			if _, err := gateway.New(config); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error about %q", err, tt.want)
			}
		})
	}
}

// TestQuestionKeepsToItsPath: a key that leaves the question's path, for an application that reads escaped slashes as slashes, is
// never asked about with the gateway's own credentials.
func TestQuestionKeepsToItsPath(t *testing.T) {
	t.Setenv("SEMEL_TEST_BANK", "Bearer semel's own")
	b := &bank{asked: make(chan string, 16)}
	b.will(200, `{"state":"paid"}`)
	text := strings.ReplaceAll(paymentsAlone, "/orders/{order}/payments?ref={key}", "/payments/{key}")
	d := open(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			panic(http.ErrAbortHandler)
		}
		b.ServeHTTP(w, r)
	}), func(c *gateway.Config) {
		c.Rules = parse(t, text)
		c.Background = operator.Unattended{Every: time.Millisecond, MinPause: time.Millisecond}
	})
	for _, key := range []string{"../../admin", `..\admin`, "x/../../admin", "%2e%2e%2fadmin", "a/..;x/b", "a.b..c"} {
		d.send(t, "POST", "/orders/1/payments", "x", "Idempotency-Key", `"`+strings.ReplaceAll(key, `\`, `\\`)+`"`, "Host", "shop.test")
	}
	if got, want := receive(t, b.asked), "shop.test /payments/a.b..c Bearer semel's own "; got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
	again := d.send(t, "POST", "/orders/1/payments", "x", "Idempotency-Key", `"../../admin"`, "Host", "shop.test")
	check(t, "the one that leaves the path", again, 409, "outcome-unknown")
	if len(b.asked) > 0 {
		t.Errorf("asked %q", <-b.asked)
	}
}
