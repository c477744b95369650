package gateway_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/console/operators"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/gateway/adminapi"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/store/memstore"
)

const operatorToken = "0123456789abcdef0123456789abcdef"

func tokens(t *testing.T) []adminapi.Token {
	t.Helper()
	return []adminapi.Token{must.Get(adminapi.NewToken("alice", operatorToken, false))}
}

// withTokens gives operators the admin API and the console.
func withTokens(t *testing.T, c *gateway.Config) {
	t.Helper()
	c.Operators = operators.Of(c, operators.Options{Tokens: tokens(t)})
}

// newWith makes a gateway with these tokens.
func newWith(c *gateway.Config, tokens []adminapi.Token) (*gateway.Gateway, error) {
	c.Operators = operators.Of(c, operators.Options{Tokens: tokens})
	return gateway.New(c)
}

// TestAdminTokens cancels an intent over the admin address; the request that comes late does not reach the application.
func TestAdminTokens(t *testing.T) {
	t.Parallel()
	var executed atomic.Int64
	d := open(t, upstream(t, func(http.ResponseWriter, *http.Request) { executed.Add(1) }), func(c *gateway.Config) { withTokens(t, c) })
	check(t, "no token", d.operate(t, http.MethodGet, "/v1/records"), 401, "token-missing")
	if r := d.send(t, http.MethodPost, "/orders", "item=1", "Idempotency-Key", "k1"); r.status != http.StatusOK {
		t.Fatalf("got %d %s", r.status, r.body)
	}
	r := d.operate(t, http.MethodGet, "/v1/records", "Authorization", "Bearer "+operatorToken)
	_, after, found := strings.Cut(r.body, `"scope":"`)
	scope, _, _ := strings.Cut(after, `"`)
	if r.status != 200 || !found || !strings.Contains(r.body, `"name":"k1"`) {
		t.Fatalf("got %d %s", r.status, r.body)
	}
	if r = d.operate(t, http.MethodDelete, "/v1/records?scope="+strings.ReplaceAll(scope, " ", "+")+"&name=k2&reason=void", "Authorization", "Bearer "+operatorToken); r.status != 200 {
		t.Fatalf("cancel: got %d %s", r.status, r.body)
	}
	check(t, "the late request", d.send(t, http.MethodPost, "/orders", "item=2", "Idempotency-Key", "k2"), 409, "cancelled")
	if executed.Load() != 1 {
		t.Errorf("%d executions, want 1", executed.Load())
	}
	if r = d.send(t, http.MethodGet, "/v1/records", "", "Authorization", "Bearer "+operatorToken); strings.Contains(r.body, "k1") {
		t.Errorf("the front door shows records: %s", r.body)
	}
}

// TestAdminTokensOff asks a gateway without tokens.
func TestAdminTokensOff(t *testing.T) {
	t.Parallel()
	d := open(t, upstream(t, func(http.ResponseWriter, *http.Request) {}), func(c *gateway.Config) { c.Operators = operators.Of(c, operators.Options{}) })
	check(t, "off", d.operate(t, http.MethodGet, "/v1/records", "Authorization", "Bearer "+operatorToken), 404, "admin-api-off")
}

// TestAdminTokensInTheClear warns of tokens that can be read on their way.
func TestAdminTokensInTheClear(t *testing.T) {
	t.Parallel()
	for address, warned := range map[string]bool{
		"": false, "off": false, "127.0.0.1:8081": false, "[::1]:8081": false, "localhost:8081": false,
		":8081": true, "0.0.0.0:8081": true, "10.0.0.7:8081": true, "admin.internal:8081": true,
	} {
		var log bytes.Buffer
		s := memstore.New(nil)
		g := must.Get(newWith(&gateway.Config{
			Upstream: "http://127.0.0.1:1", Store: s, AdminListen: address, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		}, tokens(t)))
		if got := strings.Contains(log.String(), "can be read on the way"); got != warned {
			t.Errorf("%q: warned is %v, want %v: %s", address, got, warned, log.String())
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		_ = s.Close()
	}
}

// TestAdminTokensNeedALister refuses a store that cannot show its records, and tokens that clash.
func TestAdminTokensNeedALister(t *testing.T) {
	t.Parallel()
	blind := struct{ semel.Store }{store(t)}
	_, err := newWith(&gateway.Config{Upstream: "http://127.0.0.1:1", Store: blind}, tokens(t))
	if err == nil || !strings.Contains(err.Error(), "cannot show its records") {
		t.Errorf("a blind store: got %v", err)
	}
	_, err = newWith(&gateway.Config{Upstream: "http://127.0.0.1:1", Store: store(t)}, append(tokens(t), tokens(t)...))
	if err == nil || !strings.Contains(err.Error(), "the same name") {
		t.Errorf("the same token twice: got %v", err)
	}
}
