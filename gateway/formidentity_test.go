package gateway_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/store/sqlitestore"
)

// TestFormIdentities: the reader of a form is found again when it is sent, and no other reader else can send it (promise 5).
func TestFormIdentities(t *testing.T) {
	t.Parallel()
	const scoped = "    scope: [{header: X-User}, {cookie: account}]\n"
	for name, c := range map[string]struct {
		scope   string
		page    []string // the header of the request for the page
		set     []string // the cookies that the page sets
		post    []string // the header of the form
		refused bool
		none    bool // the page has no token
	}{
		"Authorization":          {page: []string{"Authorization", "Basic YQ=="}, post: []string{"Authorization", "Basic YQ=="}},
		"another Authorization":  {page: []string{"Authorization", "Basic YQ=="}, post: []string{"Authorization", "Basic Yg=="}, refused: true},
		"a session":              {page: []string{"Cookie", "sessionid=a"}, post: []string{"Cookie", "x=1; sessionid=a"}},
		"another session":        {page: []string{"Cookie", "sessionid=a"}, post: []string{"Cookie", "sessionid=b"}, refused: true},
		"no session any more":    {page: []string{"Cookie", "sessionid=a"}, post: nil, refused: true},
		"a session of the page":  {page: nil, set: []string{"sessionid=new; Path=/; HttpOnly"}, post: []string{"Cookie", "sessionid=new"}},
		"a new session":          {page: []string{"Cookie", "sessionid=old"}, set: []string{"sessionid=new"}, post: []string{"Cookie", "sessionid=new"}},
		"one more of them":       {page: []string{"Cookie", "sessionid=a"}, post: []string{"Cookie", "sessionid=b; sessionid=a"}, refused: true},
		"two sessions":           {page: []string{"Cookie", "sessionid=b; sessionid=a"}, post: []string{"Cookie", "sessionid=b; sessionid=a"}},
		"one more session":       {page: []string{"Cookie", "sessionid=a"}, post: []string{"Cookie", "sessionid=a; PHPSESSID=b"}, refused: true},
		"one that changes too":   {page: []string{"Cookie", "sessionid=a; session=a"}, set: []string{"session=b"}, post: []string{"Cookie", "sessionid=a; session=c"}},
		"another next to it":     {page: []string{"Cookie", "sessionid=a; session=a"}, post: []string{"Cookie", "sessionid=b; session=a"}, refused: true},
		"a changing one is gone": {page: []string{"Cookie", "sessionid=a; session=a"}, post: []string{"Cookie", "sessionid=a"}},
		"Digest":                 {page: []string{"Authorization", `Digest username="a", nc=1`}, post: []string{"Authorization", `Digest username="a", nc=2`}},
		"another Digest":         {page: []string{"Authorization", `Digest username="a", nc=1`}, post: []string{"Authorization", `Digest username="b", nc=1`}, refused: true},
		"Negotiate":              {page: []string{"Authorization", "Negotiate YII1"}, post: []string{"Authorization", "Negotiate YII2"}},
		"a cookie that changes":  {page: []string{"Cookie", "session=a"}, set: []string{"session=b"}, post: []string{"Cookie", "session=c"}},
		"signed in meanwhile":    {page: nil, post: []string{"Cookie", "PHPSESSID=a"}},
		"signed out by the page": {page: []string{"Cookie", "sessionid=a"}, set: []string{"sessionid=; Max-Age=0"}, post: nil},
		"the rule's header":      {scope: scoped, page: []string{"X-User", "a", "Cookie", "sessionid=a"}, post: []string{"X-User", "a"}},
		"another in the header":  {scope: scoped, page: []string{"X-User", "a", "Cookie", "sessionid=a"}, post: []string{"X-User", "b", "Cookie", "sessionid=a"}, refused: true},
		"the rule's cookie":      {scope: scoped, page: nil, set: []string{"account=a"}, post: []string{"Cookie", "account=a"}},
		"nothing that it names":  {scope: scoped, page: []string{"Cookie", "sessionid=a"}, none: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := showing("text/html", formPage, http.Header{"Set-Cookie": c.set})
			d := openShop(t, s, formRules[:strings.Index(formRules, "  - name: orders")]+c.scope, nil)
			p := d.person(t)
			page := p.get("/new", c.page...)
			if c.none {
				if len(tokensIn(page.body)) != 0 {
					t.Errorf("the page has a token: %s", page.body)
				}
				return
			}
			// The cookies of the page are those of c.post, but for the visitor's.
			header := c.post
			if visitor := p.cookie("semel_visitor"); visitor != "" {
				header = []string{"Cookie", "semel_visitor=" + visitor}
				for i := 0; i < len(c.post); i += 2 {
					header = append(header, c.post[i], c.post[i+1])
				}
			}
			body := "_semel=" + tokensIn(page.body)[0] + "&a=1"
			header = append(header, "Content-Type", "application/x-www-form-urlencoded", "Accept", "application/json")
			for i, want := range []string{"executed", "replayed"} {
				got := d.send(t, http.MethodPost, "/invoices", body, header...)
				if c.refused {
					check(t, "sent", got, http.StatusConflict, "form-stale")
				} else if got.word() != want {
					t.Errorf("%d: got %d %s, want %s", i, got.status, got.body, want)
				}
			}
			if n := len(s.posts()); (n == 0) != c.refused || n > 1 {
				t.Errorf("the application got %d POSTs", n)
			}
		})
	}
}

// TestVisitorCookie: it is for who has nothing else, is a secret, and is set once.
func TestVisitorCookie(t *testing.T) {
	t.Parallel()
	d := openShop(t, &shop{}, "", nil)
	p := d.person(t)
	line := p.get("/new").header.Get("Set-Cookie")
	for _, want := range []string{"semel_visitor=", "; HttpOnly", "; SameSite=Lax", "; Path=/"} {
		if !strings.Contains(line, want) {
			t.Errorf("got %q, want %s", line, want)
		}
	}
	if strings.Contains(line, "Secure") || strings.Contains(line, "Max-Age") {
		t.Errorf("got %q", line)
	}
	if line := p.get("/new").header.Get("Set-Cookie"); line != "" {
		t.Errorf("again: got %q", line)
	}
	for _, forged := range []string{"x", strings.Repeat("A", 23), "<b>"} {
		got := d.send(t, http.MethodGet, "/new", "", "Accept", "text/html", "Cookie", "semel_visitor="+forged)
		if !strings.HasPrefix(got.header.Get("Set-Cookie"), "semel_visitor=") || strings.Contains(got.header.Get("Set-Cookie"), forged+";") {
			t.Errorf("%s: got %q", forged, got.header.Get("Set-Cookie"))
		}
	}
	if got := d.send(t, http.MethodGet, "/new", "", "Accept", "text/html", "Cookie", "sessionid=1"); got.header.Get("Set-Cookie") != "" {
		t.Errorf("with a session: got %q", got.header.Get("Set-Cookie"))
	}
}

// TestNewToken: a script gets a token for a path that a form leads to.
func TestNewToken(t *testing.T) {
	t.Parallel()
	s := &shop{}
	d := openShop(t, s, "", nil)
	p := d.person(t)
	got := p.get("/.well-known/semel/new?for=/invoices%3Fx=1")
	var fresh struct {
		Token, Field, Route string
		Expires             int64 `json:"expires_in_ms"` //nolint:tagliatelle // the contract.
	}
	if err := json.Unmarshal([]byte(got.body), &fresh); err != nil {
		t.Fatalf("%s: %v", got.body, err)
	}
	if got.header.Get("Cache-Control") != "no-store" || fresh.Field != "_semel" || fresh.Route != "invoices" || fresh.Expires != 24*60*60*1000 {
		t.Errorf("got %+v %v", fresh, got.header)
	}
	wantOnce(t, "the form", func() reply { return p.post("/invoices", "_semel="+fresh.Token) })
	for _, about := range []string{"", "?for=/search", "?for=https://evil.test/invoices", "?for=invoices", "?for=//evil.test/invoices"} {
		got := d.send(t, http.MethodGet, "/.well-known/semel/new"+about, "")
		check(t, about, got, http.StatusNotFound, "not-protected")
	}
	check(t, "POST", d.send(t, http.MethodPost, "/.well-known/semel/new?for=/invoices", ""), http.StatusMethodNotAllowed, "method-not-allowed")
	script := p.get("/.well-known/semel/guard.js")
	if script.status != http.StatusOK || !strings.HasPrefix(script.header.Get("Content-Type"), "text/javascript") {
		t.Errorf("script: got %d %v", script.status, script.header)
	}
	if got := p.get("/.well-known/semel/nothing.js"); got.status != http.StatusNotFound {
		t.Errorf("nothing: got %d", got.status)
	}
	if len(s.asks) != 0 {
		t.Errorf("the application was asked: %+v", s.asks)
	}
}

// TestWithoutForms: where no rule has a form, nothing of this happens.
func TestWithoutForms(t *testing.T) {
	t.Parallel()
	s := &shop{}
	d := openShop(t, s, "version: 1\nroutes:\n  - name: invoices\n    match: {methods: [POST], path: /invoices}\n", nil)
	p := d.person(t)
	if page := p.get("/new?_semel=sm1.a", "Cookie", "semel_visitor=a"); page.body != formPage || page.header.Get("Set-Cookie") != "" {
		t.Errorf("got %v %s", page.header, page.body)
	}
	if got := s.last(); got.header.Get("Cookie") != "semel_visitor=a" || got.uri != "/new?_semel=sm1.a" {
		t.Errorf("the application got %+v", got)
	}
	p.get("/.well-known/semel/guard.js")
	if got := s.last(); got.uri != "/.well-known/semel/guard.js" {
		t.Errorf("the application got %+v", got)
	}
}

// TestSharedSecret: gateways of one store take each other's tokens, over a restart too; those of another store do not.
func TestSharedSecret(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "semel.db")
	s := &shop{}
	with := func() *door {
		return openShop(t, s, "", func(c *gateway.Config) {
			store := must.Get(sqlitestore.Open(t.Context(), path, nil))
			t.Cleanup(func() { _ = store.Close() })
			c.Store = store
		})
	}
	first, second, other := with(), with(), openShop(t, s, "", nil)
	p := first.person(t)
	header := []string{"Content-Type", "application/x-www-form-urlencoded", "Cookie", "", "Host", "shop.test"}
	body := "_semel=" + p.token("/new") + "&a=1"
	header[3] = "semel_visitor=" + p.cookie("semel_visitor")
	wantWord(t, "another gateway", second.send(t, http.MethodPost, "/invoices", body, header...), "executed")
	wantWord(t, "the first", first.send(t, http.MethodPost, "/invoices", body, header...), "replayed")
	check(t, "another store", other.send(t, http.MethodPost, "/invoices", body, header...), http.StatusConflict, "form-stale")
}

// TestFormWithoutStore: while the store does not answer, pages pass without tokens, nothing is carried out unprotected, and
// everything works again afterwards (promise 10).
func TestFormWithoutStore(t *testing.T) {
	t.Parallel()
	store := breakable(t)
	s := &shop{}
	d := openShop(t, s, strings.Replace(formRules, "form: true", "form: true\n    required: true", 1), func(c *gateway.Config) { c.Store = store })
	p := d.person(t)
	store.Partition()
	if page := p.get("/new"); page.body != formPage || page.header.Get("Set-Cookie") != "" {
		t.Errorf("without a store: got %s", page.body)
	}
	form := []string{"Content-Type", "application/x-www-form-urlencoded", "Accept", "application/json"}
	check(t, "a form from before", d.send(t, http.MethodPost, "/invoices", "_semel=sm1."+strings.Repeat("A", 50)+"&a=1", form...), http.StatusServiceUnavailable, "store-unavailable")
	store.Heal()
	body := ""
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for body == "" { // the gateway asks again within a second
		<-tick.C
		if all := tokensIn(p.get("/new").body); len(all) > 0 {
			body = "_semel=" + all[0] + "&a=1"
		}
	}
	store.Partition()
	if got := p.post("/invoices", body, "Accept", "application/json"); got.status != http.StatusServiceUnavailable || len(s.posts()) != 0 {
		t.Errorf("a form while the store is gone: got %d %s", got.status, got.body)
	}
	if page := p.get("/new"); len(tokensIn(page.body)) != 1 {
		t.Errorf("a page while the store is gone: %s", page.body)
	}
	store.Heal()
	wantWord(t, "the same form afterwards", p.post("/invoices", body), "executed")
	if !strings.Contains(d.metrics(t), `semel_pages_total{result="no-secret"}`) {
		t.Error("pages without tokens are not counted")
	}
}

// TestFormOverTLS: the same over HTTP/2, where cookies are for TLS alone.
func TestFormOverTLS(t *testing.T) {
	t.Parallel()
	s := &shop{}
	d := openTLS(t, upstream(t, s.ServeHTTP), func(c *gateway.Config) { c.Rules = parse(t, formRules) })
	p := d.person(t)
	page := p.get("/new")
	if got := page.header.Get("Set-Cookie"); !strings.HasPrefix(got, "__Host-semel_visitor=") || !strings.Contains(got, "; Secure") {
		t.Errorf("the cookie: %q", got)
	}
	body := "_semel=" + tokensIn(page.body)[0] + "&a=1"
	for _, want := range []string{"executed", "replayed"} {
		got := p.post("/invoices", body)
		wantWord(t, "the form", got, want)
		if cookie := got.header.Get("Set-Cookie"); !strings.HasPrefix(cookie, "semel_outcome=") || !strings.Contains(cookie, "; Secure") {
			t.Errorf("the cookie with the outcome: %q", cookie)
		}
	}
	if res := d.stream(t, http.MethodGet, "/new", http.NoBody); res.ProtoMajor != 2 || len(s.posts()) != 1 || s.posts()[0].body != "a=1" {
		t.Errorf("got %s, %+v", res.Proto, s.posts())
	}
}
