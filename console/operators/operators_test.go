package operators_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/semel-dev/semel/console/operators"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/gateway/adminapi"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/store/memstore"
)

const secret = "secret-0123456789abcdef0123456789"

// enter logs alice in, and returns the cookie of the session.
func enter(t *testing.T, admin http.Handler) *http.Cookie {
	t.Helper()
	login := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/console/login", strings.NewReader(url.Values{"token": {secret}}.Encode()))
	login.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	entered := httptest.NewRecorder()
	admin.ServeHTTP(entered, login)
	return entered.Result().Cookies()[0]
}

// An operator sees the settings of the gateway and of the console without a secret (promise 10), and the application never sees the
// cookie of the console, which a browser sends to every port of a host.
func TestOperatorOfAGateway(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	app := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Get("Cookie") }))
	t.Cleanup(app.Close)
	store := memstore.New(nil)
	config := &gateway.Config{Upstream: app.URL, Store: store}
	config.Operators = operators.Of(config, operators.Options{
		Tokens:     []adminapi.Token{must.Get(adminapi.NewToken("alice", secret, false)), must.Get(adminapi.NewToken("bob", secret+"b", true))},
		Prometheus: "https://prometheus.example/graph",
	})
	g := must.Get(gateway.New(config))
	t.Cleanup(func() { _, _ = g.Close(), store.Close() })
	admin := g.AdminHandler()
	session := enter(t, admin)
	page := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/console/settings", http.NoBody)
	request.AddCookie(session)
	admin.ServeHTTP(page, request)
	text, at := strings.Join(strings.Fields(page.Body.String()), " "), 0
	for _, want := range []string{"Address for operators", "Admin tokens", "2 set", "Page of Prometheus", "https://prometheus.example/graph", "Certificate"} {
		next := strings.Index(text[at:], want)
		if next < 0 {
			t.Fatalf("the page has no %q after what goes before it: %s", want, text)
		}
		at += next
	}
	if strings.Contains(text, secret[:16]) {
		t.Errorf("promise 10: a secret is shown: %s", text)
	}

	for _, prefix := range []string{"", "__Secure-", "__Host-"} {
		name := prefix + strings.TrimPrefix(session.Name, "__Secure-")
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.Header.Set("Cookie", fmt.Sprintf("my_semel_console=1; %s=%s", name, session.Value))
		g.Handler().ServeHTTP(httptest.NewRecorder(), r)
		if cookie := <-got; cookie != "my_semel_console=1" {
			t.Errorf("%s: the application got the cookies %q", name, cookie)
		}
	}
}

// TestScriptsOfAGateway: the page of the rules counts what scripts of pages sent to routes with page, and says nothing of the others.
func TestScriptsOfAGateway(t *testing.T) {
	t.Parallel()
	app := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(app.Close)
	store := memstore.New(nil)
	config := &gateway.Config{Upstream: app.URL, Store: store, Rules: must.Get(rules.Parse("rules.yaml", []byte(`version: 1
routes:
  - {name: orders, match: {path: /orders}, page: true}
  - {name: others, match: {path: /others}}
`)))}
	config.Operators = operators.Of(config, operators.Options{Tokens: []adminapi.Token{must.Get(adminapi.NewToken("alice", secret, false))}})
	g := must.Get(gateway.New(config))
	t.Cleanup(func() { _, _ = g.Close(), store.Close() })
	send := func(path, body string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
		r.Header = http.Header{"Origin": {"http://example.com"}, "Sec-Fetch-Site": {"same-origin"}, "Idempotency-Key": {`"semel-page-` + path + `"`}}
		g.Handler().ServeHTTP(httptest.NewRecorder(), r)
	}
	send("/orders", "{}")
	send("/others", "{}")
	send("/.well-known/semel/page", `{"orders":{"stream":2}}`)
	page := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/console/rules", http.NoBody)
	r.AddCookie(enter(t, g.AdminHandler()))
	g.AdminHandler().ServeHTTP(page, r)
	text := page.Body.String()
	const want = "1 requests had a key since this process began. Without one, as their pages report: stream (2)<"
	if strings.Count(text, "<dt>Scripts</dt>") != 1 || !strings.Contains(text, want) || !strings.Contains(text, "page: true") {
		t.Errorf("the page says %s", text)
	}
}
