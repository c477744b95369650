package gateway_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/semel-dev/semel/gateway"
)

// TestHostilePolicyPage: what the rules file says is text on the page of the policy, which no page may frame and which runs
// nothing, and whose style is the one that its Content-Security-Policy names.
func TestHostilePolicyPage(t *testing.T) {
	t.Parallel()
	target, _ := counting(t)
	d := open(t, target, func(c *gateway.Config) {
		c.Rules = parse(t, `
version: 1
routes:
  - name: "<script>alert(1)</script>"
    match: {path: "/<img/onerror=alert(1)>/{x}"}
    key: {form_field: "<script>alert(2)</script>"}
    scope: [{constant: "</style><script>alert(3)</script>"}]
`[1:])
	})
	got := d.send(t, http.MethodGet, "/.well-known/idempotency", "", "Accept", "text/html")
	if got.status != http.StatusOK || strings.Contains(got.body, "<script") || strings.Contains(got.body, "<img") || !strings.Contains(got.body, "&lt;script&gt;alert(2)") {
		t.Errorf("got %d %v\n%s", got.status, got.err, got.body)
	}
	_, style, _ := strings.Cut(got.body, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
	for name, want := range map[string]string{
		"Content-Security-Policy": want, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "SAMEORIGIN", "Referrer-Policy": "no-referrer",
	} {
		if have := got.header.Get(name); have != want {
			t.Errorf("%s: got %q, want %q", name, have, want)
		}
	}
	raw := d.send(t, http.MethodGet, "/.well-known/idempotency", "")
	if raw.header.Get("X-Content-Type-Options") != "nosniff" || raw.header.Get("Content-Type") != "application/json" || strings.Contains(raw.body, "<script") {
		t.Errorf("as JSON: %v\n%s", raw.header, raw.body)
	}
}
