package semelhttp_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/semelhttp"
)

// hostile are texts that would be markup or script if they were not escaped.
func hostile() []string {
	return []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `</title><script>alert(1)</script>`,
		`</style><script>alert(1)</script>`, `{{.}}`, `javascript:alert(1)`, `data:text/html,<script>alert(1)</script>`, "\u2028alert(1)", `--><script>alert(1)</script>`,
		`<style>*{display:none}</style>`, "java\tscript:alert(1)", `//evil.test`, `\\evil.test`,
	}
}

// wantHarmless checks that a page holds no element, attribute or link that its
// template does not have.
func wantHarmless(t *testing.T, what, page string, header http.Header) {
	t.Helper()
	lower := strings.ToLower(page)
	for _, bad := range []string{"<script", "<img", "<iframe", "onerror=alert(1)>", "onmouseover='alert", `href="javascript:`, `href="data:`, "display:none}</style>"} {
		if strings.Contains(lower, bad) {
			t.Errorf("%s: the page holds %s:\n%s", what, bad, page)
		}
	}
	if n := strings.Count(lower, "<style"); n != 1 {
		t.Errorf("%s: the page has %d style elements", what, n)
	}
	got := map[string]string{}
	for _, name := range []string{"X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy", "Content-Type"} {
		got[name] = header.Get(name)
	}
	want := map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Content-Type": "text/html; charset=utf-8"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: header (-want +got):\n%s", what, diff)
	}
	policy := regexp.MustCompile(`^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$`)
	if csp := header.Get("Content-Security-Policy"); !policy.MatchString(csp) {
		t.Errorf("%s: Content-Security-Policy: %s", what, csp)
	}
}

// TestHostilePages: nothing that a caller or a handler says becomes markup in a
// page, and the page could do nothing with it.
func TestHostilePages(t *testing.T) {
	t.Parallel()
	for _, text := range hostile() {
		d := newDoor(t, doorOptions{Options: semelhttp.Options{MaxResponseBytes: 10, ScopeText: text}})
		handler := http.NewServeMux()
		handler.Handle("/", d.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Location"] = []string{text}
			_, _ = w.Write(make([]byte, 100))
		})))
		handler.Handle("/policy", d.PolicyHandler())
		server := newServer(t, handler)
		page := func(what, path, key string) {
			t.Helper()
			r := newAsk(t, server.URL+path, "", "Idempotency-Key", key, "Accept", "text/html", "Accept-Language", strings.ReplaceAll(text, "\n", ""))
			if path == "/policy" {
				r.Method = http.MethodGet
			}
			got := sendAsk(t, server, r)
			wantHarmless(t, what+" "+text, got.body, got.header)
		}
		ask(t, server, "done", "")
		r := newAsk(t, server.URL+"/x", "", "Idempotency-Key", "done")
		sendAsk(t, server, r)
		page("a Location", "/x", "done")
		page("a key", "/x", `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(strings.TrimSpace(text))+strings.Repeat("x", 300))
		page("an unquoted key", "/x", "k"+text+`,"`)
		page("the policy", "/policy", "k")
	}
}
