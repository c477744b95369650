package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// noticeShop answers a form with a redirect that has a page for a body, as Rails
// does, and shows a page at its end.
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
