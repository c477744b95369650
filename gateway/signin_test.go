package gateway_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// signedOut is a shop whose session can have ended; it then sends every POST to the sign-in page.
type signedOut struct {
	shop
	out  atomic.Bool
	page string
}

func newSignedOut(page string) *signedOut {
	s := &signedOut{page: page}
	s.out.Store(true)
	s.post = func(w http.ResponseWriter, r *http.Request) {
		to := "/invoices/1"
		if s.out.Load() {
			to = s.page
		}
		http.Redirect(w, r, to, http.StatusFound)
	}
	return s
}

// TestFormAfterSignIn: a form that met an expired session is carried out when it is
// sent again after signing in, once (promises 2 and 3).
func TestFormAfterSignIn(t *testing.T) {
	t.Parallel()
	s := newSignedOut("/login")
	p := openShop(t, &s.shop, "", nil).person(t)
	body := "_semel=" + p.token("/new") + "&a=1"
	for range 2 {
		if got := p.post("/invoices", body); got.header.Get("Location") != "/login" || got.word() != "released" {
			t.Errorf("signed out: got %d to %q, %q", got.status, got.header.Get("Location"), got.word())
		}
	}
	if got := p.cookie("semel_outcome"); !strings.HasSuffix(got, ":refused:302") {
		t.Errorf("signed out: the page gets %q", got)
	}
	if page := p.get("/new"); strings.Contains(page.body, "semel-notice") {
		t.Errorf("signed out: the sign-in page says that the form had been sent: %s", page.body)
	}
	s.out.Store(false)
	for _, want := range []string{"executed", "replayed"} {
		if got := p.post("/invoices", body); got.header.Get("Location") != "/invoices/1" || got.word() != want {
			t.Errorf("signed in: got %d to %q, %q, want %s", got.status, got.header.Get("Location"), got.word(), want)
		}
	}
	s.wantPosts(t, 3)
}

// TestReleasedWhen: a rule says which further answers mean that nothing happened,
// and that redirects to a sign-in page do not (promises 2 and 3).
func TestReleasedWhen(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rule, page string
		want       []string
	}{
		"by default":         {"", "/login?next=/orders", []string{"released", "executed", "replayed"}},
		"another page":       {"", "/anmelden", []string{"executed", "replayed", "replayed"}},
		"a page of the rule": {"released_when: {location: /anmelden}", "/anmelden", []string{"released", "executed", "replayed"}},
		"with the default":   {"released_when: {location: /anmelden}", "/login", []string{"released", "executed", "replayed"}},
		"a status":           {"released_when: {status: 302}", "/anmelden", []string{"released", "released", "released"}},
		"none":               {"released_when: none", "/login", []string{"executed", "replayed", "replayed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSignedOut(tt.page)
			d := openShop(t, &s.shop, "version: 1\nroutes:\n  - name: orders\n    match: {methods: [POST], path: /orders}\n    "+tt.rule+"\n", nil)
			var got []string
			for range tt.want {
				answer := d.send(t, http.MethodPost, "/orders", "x", "Idempotency-Key", "k1")
				got = append(got, answer.word())
				s.out.Store(false)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReleasedWhenPublished: callers can read it.
func TestReleasedWhenPublished(t *testing.T) {
	t.Parallel()
	d := openShop(t, &shop{}, `version: 1
routes:
  - name: orders
    match: {path: /orders}
    released_when: {status: [302, 409], location: [/anmelden, "/{lang}/anmelden"]}
  - name: tags
    match: {path: /tags}
    released_when: none
`, nil)
	document := strings.Join(strings.Fields(d.send(t, http.MethodGet, "/.well-known/idempotency", "").body), "")
	page := d.send(t, http.MethodGet, "/.well-known/idempotency", "", "Accept", "text/html").body
	for text, of := range map[string]string{
		`"released_when":{"status":[302,409],"location":["/anmelden","/{lang}/anmelden"]}`: document,
		`"sign_in_redirects":"released"`:                                    document,
		`"sign_in_redirects":"stored"`:                                      document,
		`511, redirects to a sign-in page: nothing happened`:                page,
		`302, 409 to <code>/anmelden</code>, <code>/{lang}/anmelden</code>`: page,
		`511: nothing happened`:                                             page,
	} {
		if !strings.Contains(of, text) {
			t.Errorf("%q is not in %s", text, of)
		}
	}
}
