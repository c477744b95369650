package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// noticeShop answers a form with a redirect that has a page for a body, as Rails does, and shows a page at its end.
func noticeShop() *shop {
	return &shop{
		page: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			switch r.URL.Path {
			case "/invoices/1":
				_, _ = io.WriteString(w, `<html lang="en"><body>Invoice 1</body></html>`)
			case "/invoices/1.html":
				w.Header().Set("Content-Disposition", "attachment")
				_, _ = io.WriteString(w, `<html><body>Invoice 1</body></html>`)
			default:
				_, _ = io.WriteString(w, formPage)
			}
		},
		post: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Location", "/invoices/1")
			w.WriteHeader(http.StatusFound)
			_, _ = io.WriteString(w, `<html><body>You are being <a href="/invoices/1">redirected</a>.</body></html>`)
		},
	}
}

// TestNoticeAfterRedirect: the notice that a form had been sent before appears once, in a
// page that a person sees: not in the body of a redirect, which browsers do not show.
func TestNoticeAfterRedirect(t *testing.T) {
	t.Parallel()
	p := openShop(t, noticeShop(), "", nil).person(t)
	body := "_semel=" + p.token("/new") + "&a=1"
	for range 2 {
		got := p.post("/invoices", body)
		if got.status != http.StatusFound || strings.Contains(got.body, "semel-notice") {
			t.Errorf("the redirect: got %d %s", got.status, got.body)
		}
	}
	if got := p.cookie("semel_outcome"); !strings.HasSuffix(got, ":replayed:302") {
		t.Fatalf("nothing was shown yet, and the cookie says %q", got)
	}
	// None of these shows a page to a person.
	p.do(http.MethodHead, "/invoices/1", "", "")
	p.get("/invoices/1.html")
	p.get("/invoices/1", "Sec-Purpose", "prefetch;prerender")
	p.get("/invoices/1", "Purpose", "prefetch")
	if got := p.cookie("semel_outcome"); !strings.HasSuffix(got, ":replayed:302") {
		t.Errorf("nothing was shown yet, and the cookie says %q", got)
	}
	for i, want := range []int{1, 0} {
		if page := p.get("/invoices/1"); strings.Count(page.body, "semel-notice") != want {
			t.Errorf("page %d: got %s, want %d notices", i+1, page.body, want)
		}
	}
	if got := p.cookie("semel_outcome"); !strings.HasSuffix(got, ":seen:302") {
		t.Errorf("after the notice: %q", got)
	}
}

// TestOwnWords: the words of a rule reach the script and the notice, in the language of the page, and are text whatever they hold.
func TestOwnWords(t *testing.T) {
	t.Parallel()
	const text = `version: 1
routes:
  - name: invoices
    match: {methods: [POST], path: /invoices}
    form:
      texts:
        saving: {en: 'Saving "<b>now</b>"', sv: Sparar åt dig}
        duplicate: {en: '</p><script>alert(1)</script> & more', sv: Fakturan fanns redan}
  - name: orders
    match: {methods: [POST], path: /orders}
    form: {texts: {duplicate: "Bestellt <ist> bestellt"}}
  - name: plain
    match: {methods: [POST], path: /plain}
    form: true
`
	for name, c := range map[string]struct{ lang, action, field, notice string }{
		"English":     {"en", "/invoices", ` data-semel-saving="Saving &#34;&lt;b&gt;now&lt;/b&gt;&#34;" data-semel-duplicate="&lt;/p&gt;&lt;script&gt;alert(1)&lt;/script&gt; &amp; more">`, ` lang="en">&lt;/p&gt;&lt;script&gt;alert(1)&lt;/script&gt; &amp; more</p>`},
		"Swedish":     {"sv", "/invoices", ` data-semel-saving="Sparar &#229;t dig" data-semel-duplicate="Fakturan fanns redan">`, ` lang="sv">Fakturan fanns redan</p>`},
		"not written": {"zh", "/invoices", ` data-semel-token>`, ` lang="zh">&#24744;`},
		"one for all": {"de", "/orders", ` data-semel-duplicate="Bestellt &lt;ist&gt; bestellt">`, `dir="auto">Bestellt &lt;ist&gt; bestellt</p>`},
		"none":        {"sv", "/plain", ` data-semel-token>`, ` lang="sv">Du hade`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := noticeShop()
			s.page = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, `<html lang="`+c.lang+`"><body><form method=post action=`+c.action+`></form></body></html>`)
			}
			p := openShop(t, s, text, nil).person(t)
			page := p.get("/new").body
			if !strings.Contains(page, c.field) || strings.Contains(page, "<b>now") {
				t.Errorf("the page: %s, want %s", page, c.field)
			}
			_, token, _ := strings.Cut(page, `value="`)
			token, _, _ = strings.Cut(token, `"`)
			for range 2 {
				p.post(c.action, "_semel="+token+"&a=1")
			}
			if page := p.get("/invoices/1").body; !strings.Contains(page, c.notice) || strings.Contains(page, "<script>alert") {
				t.Errorf("the page after the repetition: %s, want %s", page, c.notice)
			}
		})
	}
}
