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

// watchPage lists what a page that has these contents makes and sends, and returns how many requests that may change something
// reached its server.
func watchPage(t *testing.T, page, press string) (out string, changed int64, err error) {
	t.Helper()
	testserver.Chromium(t)
	var arrived atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			arrived.Add(1)
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(page))
	}))
	t.Cleanup(server.Close)
	rulesFile := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(rulesFile, []byte("version: 1\nroutes:\n  - {name: visits, match: {path: /api/visits}, page: true}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var told, errs bytes.Buffer
	err = (&formsFlags{browser: true, press: press}).listForms(t.Context(), &cli.Process{Stdout: &told, Stderr: &errs}, server.URL+"/", rulesFile)
	return told.String(), arrived.Load(), err
}

// TestWatch: a browser sees the forms and requests that scripts make, and sends nothing that may change something. Each kind of
// request is drafted as what protects it.
func TestWatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		page, press string
		found       string // begins the error
		says        []string
		omits       string
	}{
		"scripts": {
			`<main id=app></main><form method=post action=/logout></form><script>
fetch("/api/visits", { method: "POST" }).catch(() => {});
app.innerHTML = "<form id=order><input name=amount required><button>Order</button></form>";
order.onsubmit = (event) => { event.preventDefault(); fetch("/api/orders/17", { method: "POST" }).catch(() => {}); };
</script>`,
			"#order button", "2 of the forms and requests",
			[]string{
				"GET\t/\treads\t-\t-\tmade by a script\n", "POST\t/logout\tunprotected\t", "POST\t/api/visits\tprotected\tvisits\tload\n",
				"POST\t/api/orders/17\tunprotected\t-\tpress\n", "match: {methods: [\"POST\"], path: \"/api/orders/{id}\"}\n    page: true\n", "path: \"/logout\"}\n    form: true\n",
			},
			"match it",
		},
		"a new tab": {
			`<form method=post action=/orders target=_blank><button>Order</button></form>`, "button", "2 of the forms and requests",
			[]string{"POST\t/orders\tunprotected\t-\tpress\n", "path: \"/orders\"}\n    form: true\n"},
			"page: true",
		},
		"a form that a script sends": {
			`<button onclick="const f = document.createElement('form'); f.method = 'post'; f.action = '/orders'; document.body.append(f); f.submit()">Order</button>`, "button",
			"",
			[]string{"POST\t/orders\tunprotected\t-\tpress\n", "path: \"/orders\"}\n    form: true\n"},
			"page: true",
		},
		"a form that a script sends as well": {
			`<form id=order method=post action=/orders></form><script>fetch("/orders", { method: "POST" }).catch(() => {})</script>`, "",
			"2 of the forms and requests",
			[]string{"path: \"/orders\"}\n    page: true\n    form: true\n"},
			"no rule can match",
		},
		"a beacon": {
			`<script>navigator.sendBeacon("/stats", "a"); fetch("/api/visits", { method: "POST" }).catch(() => {})</script>`, "",
			"-",
			[]string{"POST\t/stats\treports\t-\tload\n"},
			"match:",
		},
		"what no rule can match": {
			`<script>fetch("/a//b", { method: "POST" }).catch(() => {}); fetch("/c", { method: "patch" }).catch(() => {})</script>`, "",
			"2 of the forms and requests",
			[]string{"  # \"POST /a//b\": no rule can match it\n"},
			"path: \"/a//b\"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, changed, err := watchPage(t, c.page, c.press)
			if (err == nil) != (c.found == "-") || err != nil && !strings.HasPrefix(err.Error(), c.found) {
				t.Errorf("got %v", err)
			}
			for _, says := range c.says {
				if !strings.Contains(out, says) {
					t.Errorf("%q is not in\n%s", says, out)
				}
			}
			if strings.Contains(out, c.omits) {
				t.Errorf("%q is in\n%s", c.omits, out)
			}
			if changed != 0 {
				t.Errorf("%d requests that may change something reached the server", changed)
			}
		})
	}
}
