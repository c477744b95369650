package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/semel-dev/semel/gateway"
)

// TestAround: what goes around the handler of callers sees each of their requests, and the gateway's metrics are in the registry that it was given.
func TestAround(t *testing.T) {
	t.Parallel()
	registry, paths := prometheus.NewRegistry(), make(chan string, 1)
	target := upstream(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
	d := open(t, target, func(c *gateway.Config) {
		c.Metrics = registry
		c.Around = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				paths <- r.URL.Path
				next.ServeHTTP(w, r)
			})
		}
	})
	check(t, "through it", d.send(t, http.MethodPost, "/orders", "", "Idempotency-Key", "k"), http.StatusCreated, "")
	if got := receive(t, paths); got != "/orders" {
		t.Errorf("it saw %s", got)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range families {
		found = found || f.GetName() == "semel_requests_total"
	}
	if !found || !strings.Contains(d.operate(t, http.MethodGet, "/metrics").body, "\nsemel_requests_total") {
		t.Errorf("the gateway's metrics are in its registry: %t", found)
	}
}
