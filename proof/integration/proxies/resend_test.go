package proxies_test

import (
	"net/http"
	"testing"
)

// loss is an order whose answer gets lost on its way to the proxy, on a connection that served others before.
type loss struct{ name, method, path, body string }

func losses() []loss {
	return []loss{
		{"closed", http.MethodPost, "/lost", "amount=1"},
		{"reset", http.MethodPatch, "/reset", "amount=1"},
		{"closed, without a body", http.MethodPatch, "/lost/bare", ""},
		{"reset, without a body", http.MethodPost, "/reset/bare", ""},
	}
}

// configured are the ways to run a proxy, by name.
func (k *kind) configured(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{"plain": k.plain, "eager": k.eager, "page": k.page(t)}
}

// resends reports whether the proxy sends a lost order again, although that may have been executed.
func (k *kind) resends(configured string, l loss) bool {
	switch k.name {
	case "nginx", "HAProxy":
		return configured == "eager"
	case "Caddy": // net/http resends what has a key and no body
		return configured == "eager" && l.method == http.MethodPost || configured != "page" && l.body == ""
	default:
		return false
	}
}

// silent reports whether the proxy closes the caller's connection when it got no answer: a browser then sends the order again.
func (k *kind) silent() bool { return k.name == "HAProxy" || k.name == "Apache" }

// eachLoss runs a test for every loss with every kind of proxy in every configuration.
func eachLoss(t *testing.T, test func(t *testing.T, k *kind, directives string, l loss, resends bool)) {
	t.Helper()
	each(t, func(t *testing.T, k *kind) {
		t.Helper()
		for configured, directives := range k.configured(t) {
			for _, l := range losses() {
				t.Run(configured+", "+l.name, func(t *testing.T) {
					t.Parallel()
					test(t, k, directives, l, k.resends(configured, l))
				})
			}
		}
	})
}

// TestAlone shows what proxies do without Semel: which of them execute an order twice on their own, and which leave that to the browser.
func TestAlone(t *testing.T) {
	t.Parallel()
	eachLoss(t, func(t *testing.T, k *kind, directives string, l loss, resends bool) {
		t.Helper()
		app := newApplication(true)
		c := newCaller(t, k.start(t, directives, twice(t, app, nil)).url)
		c.warm()
		got := c.send(l.method, l.path, l.body, "k")
		if n := app.executed(l.path); n > 1 != resends || n == 0 {
			t.Errorf("executed %d times, want it resent: %t", n, resends)
		}
		switch {
		case resends && k.name == "Caddy" && l.body != "": // the body is gone when it is sent again
		case resends:
			got.want(t, http.StatusCreated, "")
		case k.silent():
			if got.err == nil {
				t.Errorf("got %d %s, want a closed connection", got.status, got.body)
			}
		default:
			got.want(t, http.StatusBadGateway, "")
		}
	})
}

// TestSilenceIsResent shows without Semel that a closed connection makes the caller's own HTTP client send the order again.
func TestSilenceIsResent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kind) {
		t.Helper()
		if !k.silent() {
			return
		}
		app := newApplication(true)
		c := newCaller(t, k.start(t, k.plain, twice(t, app, nil)).url)
		c.warm()
		c.sendAs(http.MethodPost, "/lost", "", "Idempotency-Key", "k").want(t, http.StatusCreated, "")
		app.want(t, "/lost", 2)
	})
}

// TestFront (promises 1 to 3): behind any proxy, in any configuration, an order is executed once, and a caller that sends it until
// there is an answer gets that of the execution.
func TestFront(t *testing.T) {
	t.Parallel()
	eachLoss(t, func(t *testing.T, k *kind, directives string, l loss, _ bool) {
		t.Helper()
		app := newApplication(false)
		c := newCaller(t, k.start(t, directives, gateways(t, serve(t, app, nil), nil)).url)
		c.warm()
		if got := c.until(l.method, l.path, l.body, "k"); got.body != l.path+", execution 1" || got.header.Get("Idempotency-Status") != "replayed" {
			t.Errorf("got %+v, want the first answer", got)
		}
		app.want(t, l.path, 1)
	})
}

// TestBetween (promise 3): with the directives of the page, an application behind a proxy behind the gateway executes an order once,
// and its outcome is unknown. A proxy that sends it again does so under the gateway's one claim.
func TestBetween(t *testing.T) {
	t.Parallel()
	eachLoss(t, func(t *testing.T, k *kind, directives string, l loss, resends bool) {
		t.Helper()
		app := newApplication(true)
		p := k.start(t, directives, twice(t, app, nil))
		c := newCaller(t, "http://"+serve(t, newGateway(t, p.url, newStore(t)).Handler(), nil))
		c.warm()
		got := c.send(l.method, l.path, l.body, "k")
		if resends {
			if n := app.executed(l.path); n < 2 {
				t.Errorf("executed %d times, although the proxy sends it again", n)
			}
			return
		}
		got.want(t, http.StatusBadGateway, "unknown")
		c.send(l.method, l.path, l.body, "k").want(t, http.StatusConflict, "")
		app.want(t, l.path, 1)
	})
}

// TestUnsent: when the application behind the proxy is down, nothing was sent. The gateway learns that from the page's directives,
// and a retry runs once the application is there.
func TestUnsent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kind) {
		t.Helper()
		app := newApplication(false)
		first, second := reserve(t), reserve(t)
		p := k.start(t, k.page(t), []string{first.address, second.address})
		c := newCaller(t, "http://"+serve(t, newGateway(t, p.url, newStore(t)).Handler(), nil))
		for range 2 {
			c.send(http.MethodPost, "/order", "amount=1", "k").want(t, http.StatusServiceUnavailable, "released")
		}
		first.serve(t, app)
		second.serve(t, app)
		if got := c.until(http.MethodPost, "/order", "amount=1", "k"); got.body != "/order, execution 1" {
			t.Errorf("got %+v", got)
		}
		app.want(t, "/order", 1)
	})
}
