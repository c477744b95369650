package semelhttp_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
)

// TestScope: promise 5: scopes never see each other, and a request without one
// is refused.
func TestScope(t *testing.T) {
	t.Parallel()
	var invoices counter
	user := func(r *http.Request) string { return r.Header.Get("X-User") }
	d := newDoor(t, doorOptions{scope: semelhttp.ScopeBy(user)})
	server := d.serve(t, invoices.create)
	for _, who := range []string{"ann", "bo"} {
		if got := ask(t, server, "k1", "x", "X-User", who); got.word() != "executed" {
			t.Errorf("promise 5: %s got %q, want executed", who, got.word())
		}
	}
	wantProblem(t, ask(t, server, "k1", "x"), http.StatusBadRequest, "key-invalid")
	invoices.wantRan(t, "promise 5", 2)
}

// TestScopeErrors: a scope function's trouble is the service's, and stays there.
func TestScopeErrors(t *testing.T) {
	t.Parallel()
	for name, scope := range map[string]semelhttp.ScopeFunc{
		"error":             func(*http.Request) (string, error) { return "", errors.New("the password is hunter2") },
		"error of the core": func(*http.Request) (string, error) { return "", semel.ErrKeyInvalid },
		"too long":          func(*http.Request) (string, error) { return strings.Repeat("s", semel.MaxScopeBytes+1), nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var invoices counter
			d := newDoor(t, doorOptions{scope: scope})
			got := ask(t, d.serve(t, invoices.create), "k1", "x")
			wantProblem(t, got, http.StatusInternalServerError, "internal")
			if strings.Contains(got.body, "hunter2") {
				t.Errorf("the caller sees %s", got.body)
			}
			invoices.wantRan(t, "scope error", 0)
		})
	}
}

// TestAuthorisationBeforeReplay: promise 5: mounted inside of what authorises,
// a replay needs the right that the execution needed.
func TestAuthorisationBeforeReplay(t *testing.T) {
	t.Parallel()
	var invoices counter
	var revoked atomic.Bool
	d := newDoor(t, doorOptions{})
	inner := d.Handler(http.HandlerFunc(invoices.create))
	server := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if revoked.Load() {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	ask(t, server, "k1", "x")
	revoked.Store(true)
	if got := ask(t, server, "k1", "x"); got.status != http.StatusForbidden || got.body != "" {
		t.Errorf("promise 5: got %d %q, want 403 and nothing else", got.status, got.body)
	}
}
