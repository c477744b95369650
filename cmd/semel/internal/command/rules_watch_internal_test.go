package command

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/testserver"
)

// TestWatch: a browser sees the forms and requests that scripts make, and sends nothing that may change something.
func TestWatch(t *testing.T) {
	t.Parallel()
	testserver.Chromium(t)
	var changed atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			changed.Add(1)
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<main id=app></main><form method=post action=/logout></form><script>
fetch("/api/visits", { method: "POST" }).catch(() => {});
app.innerHTML = "<form id=order><input name=amount required><button>Order</button></form>";
order.onsubmit = (event) => { event.preventDefault(); fetch("/api/orders/17", { method: "POST" }).catch(() => {}); };
</script>`))
	}))
	t.Cleanup(server.Close)
	rulesFile := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(rulesFile, []byte("version: 1\nroutes:\n  - {name: visits, match: {path: /api/visits}, page: true}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, told bytes.Buffer
	p := &cli.Process{Stdout: &out, Stderr: &told}
	err := (&formsFlags{browser: true, press: "#order button"}).listForms(t.Context(), p, server.URL+"/", rulesFile)
	if err == nil || !strings.HasPrefix(err.Error(), "2 of the forms and requests") {
		t.Errorf("got %v", err)
	}
	for _, says := range []string{
		"GET\t/\treads\t-\t-\tmade by a script\n", "POST\t/logout\tunprotected\t", "POST\t/api/visits\tprotected\tvisits\tload\n",
		"POST\t/api/orders/17\tunprotected\t-\tpress\n", "match: {methods: [POST], path: \"/api/orders/{id}\"}\n    page: true\n", "path: \"/logout\"}\n    form: true\n",
	} {
		if !strings.Contains(out.String(), says) {
			t.Errorf("%q is not in\n%s", says, out.String())
		}
	}
	if n := changed.Load(); n != 0 {
		t.Errorf("%d requests that may change something reached the server", n)
	}
}

// TestWatchNewTab: the request of a form in a new tab is stopped as well, and reported.
func TestWatchNewTab(t *testing.T) {
	t.Parallel()
	testserver.Chromium(t)
	var changed atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			changed.Add(1)
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<form method=post action=/orders target=_blank><button>Order</button></form>`))
	}))
	t.Cleanup(server.Close)
	rulesFile := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(rulesFile, []byte("version: 1\nroutes:\n  - {name: visits, match: {path: /api/visits}, page: true}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, told bytes.Buffer
	p := &cli.Process{Stdout: &out, Stderr: &told}
	if err := (&formsFlags{browser: true, press: "button"}).listForms(t.Context(), p, server.URL+"/", rulesFile); err == nil {
		t.Error("an unprotected form was not found")
	}
	if says := "POST\t/orders\tunprotected\t-\tpress\n"; !strings.Contains(out.String(), says) {
		t.Errorf("%q is not in\n%s", says, out.String())
	}
	if n := changed.Load(); n != 0 {
		t.Errorf("%d requests that may change something reached the server", n)
	}
}
