package semelhttp_test

import (
	"net/http"
	"net/http/httptest"
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
	want := map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "SAMEORIGIN", "Referrer-Policy": "no-referrer", "Content-Type": "text/html; charset=utf-8"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: header (-want +got):\n%s", what, diff)
	}
	policy := regexp.MustCompile(`^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; base-uri 'none'; form-action 'none'; frame-ancestors 'self'$`)
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
			r := newAsk(t, server.URL+path, "", "Idempotency-Key", key, "Accept", "text/html", "Accept-Language", strings.ReplaceAll(text, "\n", ""),
				"Content-Type", "text/plain", "Referer", "http://"+server.Listener.Addr().String()+"/"+strings.ReplaceAll(text, "\n", ""))
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

// problemPage returns the page that a browser gets instead of an answer to a form.
func problemPage(t *testing.T, page string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := newAsk(t, "http://shop.test/orders", "a=1", append(header, "Accept", "text/html", "Content-Type", "application/x-www-form-urlencoded")...)
	w := httptest.NewRecorder()
	semelhttp.WriteProblem(w, r, semelhttp.Problem{Name: "x", Page: page, Status: http.StatusConflict})
	return w
}

// TestPagesInFrames: a refusal is legible in the frame that the form was in, and no
// page of another site can frame one.
func TestPagesInFrames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header []string
		open   bool
	}{
		"no word of a frame":           {nil, false},
		"a page of its own":            {[]string{"Sec-Fetch-Dest", "document", "Sec-Fetch-Site", "same-origin"}, false},
		"the form in a frame":          {[]string{"Sec-Fetch-Dest", "iframe", "Sec-Fetch-Site", "same-origin"}, true},
		"another site's form, a frame": {[]string{"Sec-Fetch-Dest", "iframe", "Sec-Fetch-Site", "cross-site"}, false},
		"a neighbour's form, a frame":  {[]string{"Sec-Fetch-Dest", "iframe", "Sec-Fetch-Site", "same-site"}, false},
	} {
		h := problemPage(t, "in-flight", c.header...).Header()
		policy := h.Get("Content-Security-Policy")
		if got := !strings.Contains(policy, "frame-ancestors 'self'"); got != c.open {
			t.Errorf("%s: any frame = %v, want %v: %s", name, got, c.open, policy)
		}
		if got := h.Get("X-Frame-Options"); got != map[bool]string{false: "SAMEORIGIN", true: ""}[c.open] {
			t.Errorf("%s: X-Frame-Options: %q", name, got)
		}
		if got := strings.Join(h.Values("Vary"), ", "); !strings.Contains(got, "Sec-Fetch-Dest") {
			t.Errorf("%s: Vary: %s", name, got)
		}
	}
}

// TestWayBack: a page that answers a form leads back to it, and to no other host;
// where it may have happened, it says that the form means doing it once more.
func TestWayBack(t *testing.T) {
	t.Parallel()
	const back, once = "Go back to the form", "To do it once more on purpose, open the form again."
	link := func(to, text string) string { return `<a href="` + to + `">` + text + `</a>` }
	for name, c := range map[string]struct {
		page      string
		header    []string
		want, not string
	}{
		"nothing was saved":         {"form-stale", []string{"Referer", "http://shop.test/new?a=1&b=2"}, link("/new?a=1&amp;b=2", back), once},
		"it may have happened":      {"outcome-unknown", []string{"Referer", "http://shop.test/new"}, link("/new", once), back},
		"another site":              {"form-stale", []string{"Referer", "http://evil.test/new"}, "", "evil"},
		"another port":              {"form-stale", []string{"Referer", "http://shop.test:81/new"}, "", "/new"},
		"no referrer":               {"form-stale", nil, "", "href=\"\""},
		"no referrer, may have":     {"in-flight", nil, "<p>" + once + "</p>", "href=\"\""},
		"a path like a host":        {"form-stale", []string{"Referer", "http://shop.test//evil.test/x"}, link("/evil.test/x", back), `"//`},
		"a backslash":               {"form-stale", []string{"Referer", `http://shop.test/\evil.test/`}, link("/%5Cevil.test/", back), `"/\`},
		"a script":                  {"form-stale", []string{"Referer", "javascript://shop.test/%0aalert(1)"}, "", "alert"},
		"behind a proxy":            {"form-stale", []string{"Referer", "https://public.test/new", "Sec-Fetch-Site", "same-origin"}, link("/new", back), "public"},
		"another site says so":      {"form-stale", []string{"Referer", "https://public.test/new", "Sec-Fetch-Site", "cross-site"}, "", "/new"},
		"not a form, but a program": {"form-stale", []string{"Referer", "http://shop.test/new", "Content-Type", "application/json"}, "", back},
	} {
		body := problemPage(t, c.page, c.header...).Body.String()
		if !strings.Contains(body, c.want) || strings.Contains(body, c.not) {
			t.Errorf("%s: want %s and not %s:\n%s", name, c.want, c.not, body)
		}
	}
}
