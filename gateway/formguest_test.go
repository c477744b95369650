package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/semel-dev/semel/gateway"
)

// without sends as a browser does that takes no cookies; "HOST" in a header is replaced for the door's.
func (d *door) without(t *testing.T, method, path, body string, header ...string) reply {
	t.Helper()
	all := []string{"Accept", "text/html"}
	if body != "" {
		all = append(all, "Content-Type", urlencoded)
	}
	for _, text := range header {
		all = append(all, strings.ReplaceAll(text, "HOST", strings.TrimPrefix(d.url, "http://")))
	}
	return d.send(t, method, path, body, all...)
}

// TestFormWithoutCookies: a browser that takes no cookies can send a form through the gateway as without it, once, and gets the
// first answer again (F1, F8). So can a form in a frame of another site's page, which gets none either.
func TestFormWithoutCookies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set    []string // cookies that the page sets, and the browser drops
		header []string // of the form
	}{
		"cookies blocked":                  {},
		"a session that the browser drops": {set: []string{"PHPSESSID=new; Path=/"}},
		"in a frame of another site":       {header: []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Dest", "iframe", "Origin", "http://HOST"}},
		"only an outcome is left":          {header: []string{"Cookie", "semel_outcome=AAAAAAAAAAAAAAAAAAAAAA:seen:200"}},
		"plain HTTP":                       {header: []string{"Origin", "http://HOST"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := showing("text/html", formPage, http.Header{"Set-Cookie": c.set})
			d := openShop(t, s, "", nil)
			body := "_semel=" + tokensIn(d.without(t, http.MethodGet, "/new", "").body)[0] + "&a=1"
			for _, want := range []string{"executed", "replayed"} {
				got := d.without(t, http.MethodPost, "/invoices", body, c.header...)
				if got.status != http.StatusSeeOther || got.header.Get("Location") != "/invoices/1" || got.word() != want {
					t.Errorf("got %d %q, want it %s: %s", got.status, got.word(), want, got.body)
				}
			}
			wantWord(t, "other content", d.without(t, http.MethodPost, "/invoices", strings.Replace(body, "a=1", "a=2", 1), c.header...), "executed")
			if got := bodies(s.posts()); !slices.Equal(got, []string{"a=1", "a=2"}) {
				t.Errorf("the application got %q", got)
			}
		})
	}
}

// TestFormThatLostItsCookie: a form that was sent with the visitor's cookie, and is
// sent again without any, is the same intent (F1).
func TestFormThatLostItsCookie(t *testing.T) {
	t.Parallel()
	s := &shop{}
	d := openShop(t, s, "", nil)
	p := d.person(t)
	body := "_semel=" + p.token("/new") + "&a=1"
	wantWord(t, "the form", p.post("/invoices", body), "executed")
	wantWord(t, "the form", d.without(t, http.MethodPost, "/invoices", body), "replayed")
	s.wantPosts(t, 1)
}

// TestGuestsOnly: only a token that was made for a request without cookies is good
// without any, and only where no page of another site can have sent it (F2, F8).
func TestGuestsOnly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		page, post []string // headers
	}{
		"a session's token":             {page: []string{"Cookie", "sessionid=a"}},
		"a visitor's token":             {page: []string{"Cookie", "semel_visitor=AAAAAAAAAAAAAAAAAAAAAA"}},
		"a token of an Authorization":   {page: []string{"Authorization", "Basic YQ=="}},
		"any cookie, and not ours":      {page: []string{"Cookie", "theme=dark"}},
		"sent with another session":     {post: []string{"Cookie", "sessionid=b"}},
		"sent with another's cookie":    {post: []string{"Cookie", "semel_visitor=AAAAAAAAAAAAAAAAAAAAAA"}},
		"sent with any cookie":          {post: []string{"Cookie", "theme=dark"}},
		"sent with an Authorization":    {post: []string{"Authorization", "Basic YQ=="}},
		"sent by another site":          {post: []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.test"}},
		"sent by a neighbour":           {post: []string{"Sec-Fetch-Site", "same-site"}},
		"sent by another site, plainly": {post: []string{"Origin", "http://evil.test"}},
		"sent by an opaque origin":      {post: []string{"Origin", "null"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shop{}
			d := openShop(t, s, "", nil)
			token := tokensIn(d.without(t, http.MethodGet, "/new", "", c.page...).body)[0]
			got := d.without(t, http.MethodPost, "/invoices", "_semel="+token+"&a=1", append(c.post, "Accept", "application/json")...)
			if got.status != http.StatusConflict || len(s.posts()) != 0 {
				t.Errorf("got %d %s, and %d POSTs", got.status, got.body, len(s.posts()))
			}
		})
	}
}

// TestGuestsAreApart: no reader without cookies gets what another was answered, not
// even for the same content (F8), and a forged token is refused.
func TestGuestsAreApart(t *testing.T) {
	t.Parallel()
	s := &shop{}
	d := openShop(t, s, "", nil)
	token := func() string { return tokensIn(d.without(t, http.MethodGet, "/new", "").body)[0] }
	mine, theirs := token(), token()
	for _, token := range []string{mine, theirs} {
		wantWord(t, "the form", d.without(t, http.MethodPost, "/invoices", "_semel="+token+"&a=1"), "executed")
	}
	forged := mine[:len("sm1.")+11] + theirs[len("sm1.")+11:] // my visitor, the rest another's
	if got := d.without(t, http.MethodPost, "/invoices", "_semel="+forged+"&a=1"); got.status != http.StatusConflict {
		t.Errorf("forged: got %d %s", got.status, got.body)
	}
	s.wantPosts(t, 2)
}

// TestGuestsPage: a page is not made one to load again where its reader could not be
// distinguished from others, and a script's token is good without cookies as well (F7, F8).
func TestGuestsPage(t *testing.T) {
	t.Parallel()
	s := &shop{post: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<p>Invoice 1")
	}}
	d := openShop(t, s, strings.Replace(formRules, "form: true", "form: {restore_redirect: true}", 1), nil)
	var fresh struct{ Token string }
	if got := d.without(t, http.MethodGet, "/.well-known/semel/new?for=/invoices", ""); json.Unmarshal([]byte(got.body), &fresh) != nil {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	for _, want := range []string{"executed", "replayed"} {
		got := d.without(t, http.MethodPost, "/invoices", url.Values{"_semel": {fresh.Token}, "a": {"1"}}.Encode())
		if got.status != http.StatusOK || got.word() != want {
			t.Errorf("got %d %q to %s, want the page, %s", got.status, got.word(), got.header.Get("Location"), want)
		}
	}
}

// TestGuestsOfTwoGateways: gateways that share their secrets know each other's
// guests, and a secret that was replaced is known as long as it is given (F8).
func TestGuestsOfTwoGateways(t *testing.T) {
	t.Parallel()
	old, current := []byte("the old secret of the site"), []byte("the new secret of the site")
	s := &shop{}
	shared := store(t)
	with := func(secrets ...[]byte) *door {
		return openShop(t, s, "", func(c *gateway.Config) { c.Store, c.FormSecrets = shared, secrets })
	}
	first, second := with(old), with(current, old)
	body := "_semel=" + tokensIn(first.without(t, http.MethodGet, "/new", "", "Host", "shop.test").body)[0] + "&a=1"
	for i, d := range []*door{first, second, first} {
		want := []string{"executed", "replayed", "replayed"}[i]
		wantWord(t, fmt.Sprint(i), d.without(t, http.MethodPost, "/invoices", body, "Host", "shop.test"), want)
	}
}
