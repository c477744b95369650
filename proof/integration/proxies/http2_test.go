package proxies_test

import (
	"net/http"
	"testing"
)

// TestHTTP2 (promises 1 to 3): the same over TLS, with HTTP/2 wherever the page's directives allow it.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kind) {
		t.Helper()
		pr := protocols(t)[1]
		for _, l := range losses() {
			t.Run("front, "+l.name, func(t *testing.T) {
				t.Parallel()
				app := newApplication(false)
				c := newCaller(t, k.start(t, k.before(t, pr), gateways(t, serve(t, app, nil), pr.secure)).url)
				c.warm()
				got := c.until(l.method, l.path, l.body, "k")
				if got.body != l.path+", execution 1" || got.header.Get("Idempotency-Status") != "replayed" || got.proto != "HTTP/2.0" {
					t.Errorf("got %+v, want the first answer over HTTP/2", got)
				}
				app.want(t, l.path, 1)
			})
			t.Run("between, "+l.name, func(t *testing.T) {
				t.Parallel()
				app := newApplication(true)
				p := k.start(t, k.behind(t, pr), twice(t, app, pr.secure))
				c := newCaller(t, pr.url(serve(t, newGateway(t, p.url, newStore(t)).Handler(), pr.secure)))
				c.warm()
				c.send(l.method, l.path, l.body, "k").want(t, http.StatusBadGateway, "unknown")
				c.send(l.method, l.path, l.body, "k").want(t, http.StatusConflict, "")
				app.want(t, l.path, 1)
				if app.spoke("HTTP/2.0") == k.http1Behind {
					t.Errorf("HTTP/2 behind the proxy: %t", app.spoke("HTTP/2.0"))
				}
			})
		}
	})
}
