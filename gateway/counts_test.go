package gateway_test

import (
	"bufio"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/semel-dev/semel/console/operators"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/store/memstore"
)

// TestConsoleCounts shows what /metrics counts on the console's overview, and ends its event stream when the gateway ends.
func TestConsoleCounts(t *testing.T) {
	t.Parallel()
	d := open(t, upstream(t, func(http.ResponseWriter, *http.Request) {}), func(c *gateway.Config) {
		c.Operators = operators.Of(c, operators.Options{Tokens: tokens(t), Prometheus: "https://prometheus.example/graph"})
	})
	d.send(t, http.MethodPost, "/orders", "item=1", "Idempotency-Key", "k1")
	d.send(t, http.MethodPost, "/orders", "item=1", "Idempotency-Key", "k1")
	d.send(t, http.MethodPost, "/orders", "item=2", "Idempotency-Key", "k1")
	operators := &door{url: d.admin, client: d.client}
	r := operators.send(t, http.MethodPost, "/console/login", url.Values{"token": {operatorToken}}.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	cookie, _, _ := strings.Cut(r.header.Get("Set-Cookie"), ";")
	answer := operators.stream(t, http.MethodGet, "/console/live", nil, "Cookie", cookie)
	lines := bufio.NewScanner(answer.Body)
	for events := 0; !strings.Contains(lines.Text(), `"executed":1,"stopped":1,"waited":0,"refused":1`); events++ {
		if events > 20 || !lines.Scan() {
			t.Fatalf("the event stream does not have the counts: %q, error %v", lines.Text(), lines.Err())
		}
	}
	r = operators.send(t, http.MethodGet, "/console/", "", "Cookie", cookie)
	for _, want := range []string{
		`data-live="stopped" data-base="0" value="1"`, `data-name="Outcome">executed<`, `data-name="Outcome">replayed<`, `data-name="Outcome">mismatch<`,
		`href="https://prometheus.example/graph"`,
	} {
		if !strings.Contains(r.body, want) {
			t.Errorf("the overview does not say %s: %s", want, r.body)
		}
	}
	d.stop()
	for lines.Scan() {
	}
	if err := d.wait(t); err != nil {
		t.Errorf("the gateway ended with %v", err)
	}
	if lines.Err() != nil {
		t.Errorf("the event stream was cut: %v", lines.Err())
	}
}

// TestPrometheusURL refuses a link that no browser should follow.
func TestPrometheusURL(t *testing.T) {
	t.Parallel()
	s := memstore.New(nil)
	t.Cleanup(func() { _ = s.Close() })
	c := &gateway.Config{Upstream: "http://127.0.0.1:1", Store: s}
	c.Operators = operators.Of(c, operators.Options{Prometheus: "javascript:alert(1)"})
	_, err := gateway.New(c)
	if err == nil || !strings.Contains(err.Error(), "is not the URL of a page") {
		t.Errorf("got %v", err)
	}
}
