package gateway_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/semel-dev/semel/gateway"
)

// TestPlantedVisitor: an attacker who plants the visitor cookie in another's browser gets nothing of that person's, and nothing is
// carried out in their name (promise 5). Where the browser speaks TLS, a subdomain and a man in the middle of plain http can plant
// a cookie of any name but one that starts with __Host-.
func TestPlantedVisitor(t *testing.T) {
	t.Parallel()
	for name, https := range map[string][]string{
		"one proxy":                 {"X-Forwarded-Proto", "https"},
		"and the other's own first": {"X-Forwarded-Proto", "https", "Cookie", "__Host-semel_visitor=" + strings.Repeat("B", 22)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shop{}
			d := openShop(t, s, "", func(c *gateway.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
			attacker := d.person(t, "X-Forwarded-Proto", "https")
			planted := "semel_visitor=" + strings.Repeat("A", 22)
			page := attacker.get("/new", "Cookie", planted)
			own, _, _ := strings.Cut(page.header.Get("Set-Cookie"), ";")
			if !strings.HasPrefix(own, "__Host-semel_visitor=") || strings.Contains(own, "AAAA") {
				t.Errorf("a planted visitor is taken for one: %q", own)
			}
			body := "_semel=" + tokensIn(page.body)[0] + "&a=1"
			header := append([]string{"Cookie", planted}, https...)
			if got := d.person(t).post("/invoices", body, header...); got.status != http.StatusConflict || !strings.Contains(got.body, "form-stale") {
				t.Errorf("the other person's browser: got %d %s", got.status, got.body)
			}
			s.wantPosts(t, 0)
			wantWord(t, "the attacker's own", attacker.post("/invoices", body, "Cookie", own), "executed")
			if got := s.last().header.Get("Cookie"); got != "" {
				t.Errorf("the application got the cookie %q", got)
			}
		})
	}
}

// TestVisitorOverTLS: the cookie belongs to one host, and to TLS; on plain http,
// where a browser takes no such cookie, it has its plain name.
func TestVisitorOverTLS(t *testing.T) {
	t.Parallel()
	s := &shop{}
	d := openShop(t, s, "", func(c *gateway.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	line := d.send(t, http.MethodGet, "/new", "", "Accept", "text/html", "X-Forwarded-Proto", "https").header.Get("Set-Cookie")
	for _, want := range []string{"__Host-semel_visitor=", "; Path=/", "; Secure", "; HttpOnly", "; SameSite=Lax"} {
		if !strings.Contains(line, want) || strings.Contains(line, "Domain") {
			t.Errorf("got %q, want %s", line, want)
		}
	}
	own, _, _ := strings.Cut(line, ";")
	again := d.send(t, http.MethodGet, "/new", "", "Accept", "text/html", "X-Forwarded-Proto", "https", "Cookie", own)
	if line := again.header.Get("Set-Cookie"); line != "" {
		t.Errorf("again: got %q", line)
	}
	plain := d.send(t, http.MethodGet, "/new", "", "Accept", "text/html", "Cookie", own)
	if line := plain.header.Get("Set-Cookie"); !strings.HasPrefix(line, "semel_visitor=") || strings.Contains(line, "Secure") {
		t.Errorf("on plain http: got %q", line)
	}
	if got := s.last().header.Get("Cookie"); got != "" {
		t.Errorf("the application got the cookie %q", got)
	}
}
