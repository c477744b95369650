package gateway_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/must"
)

const formRules = `version: 1
routes:
  - name: invoices
    match: {methods: [POST], path: /invoices}
    form: true
  - name: orders
    match: {methods: [POST], path: /orders}
    form: {script: false}
`

const formPage = `<!DOCTYPE html><html lang="en"><body><form method="post" action="/invoices"><input name="amount"><button>Send</button></form></body></html>`

// shop is an application with a form, and what it was sent.
type shop struct {
	mu   sync.Mutex
	seen []received // POSTs
	asks []received // everything else
	page http.HandlerFunc
	post http.HandlerFunc
}

// received is a request as the application got it.
type received struct {
	method, uri, body string
	header            http.Header
	length            int64
	chunked           bool
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	got := received{r.Method, r.RequestURI, string(body), r.Header.Clone(), r.ContentLength, len(r.TransferEncoding) > 0}
	s.mu.Lock()
	if r.Method == http.MethodPost {
		s.seen = append(s.seen, got)
	} else {
		s.asks = append(s.asks, got)
	}
	s.mu.Unlock()
	switch {
	case r.Method != http.MethodPost && s.page != nil:
		s.page(w, r)
	case r.Method != http.MethodPost:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, formPage)
	case s.post != nil:
		s.post(w, r)
	default:
		http.Redirect(w, r, "/invoices/1", http.StatusSeeOther)
	}
}

// posts returns the POSTs that arrived.
func (s *shop) posts() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]received(nil), s.seen...)
}

// wantPosts checks how many POSTs arrived.
func (s *shop) wantPosts(t *testing.T, want int) {
	t.Helper()
	if got := s.posts(); len(got) != want {
		t.Errorf("the application got %d POSTs, want %d: %+v", len(got), want, got)
	}
}

// last returns the last request with a method other than POST.
func (s *shop) last() received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asks[len(s.asks)-1]
}

// person uses a browser.
type person struct {
	t      *testing.T
	door   *door
	client *http.Client
	header []string // of every request
}

// openShop starts a gateway with rules in front of a shop.
func openShop(t *testing.T, s *shop, text string, set func(*gateway.Config)) *door {
	t.Helper()
	text = cmp.Or(text, formRules)
	app := httptest.NewServer(s)
	t.Cleanup(app.Close)
	return open(t, app.URL, func(c *gateway.Config) {
		c.Rules = parse(t, text)
		if set != nil {
			set(c)
		}
	})
}

// person returns a person without cookies.
func (d *door) person(t *testing.T, header ...string) *person {
	t.Helper()
	jar := must.Get(cookiejar.New(nil))
	client := *d.client
	client.Jar = jar
	return &person{t: t, door: d, client: &client, header: header}
}

// do sends a request as a browser that shows what comes.
func (p *person) do(method, path, contentType, body string, header ...string) reply {
	p.t.Helper()
	d := &door{url: p.door.url, client: p.client}
	all := append([]string{"Accept", "text/html,application/xhtml+xml,*/*;q=0.8", "Sec-Fetch-Mode", "navigate"}, p.header...)
	if contentType != "" {
		all = append(all, "Content-Type", contentType)
	}
	got := d.sendContext(p.t.Context(), method, path, strings.NewReader(body), append(all, header...)...)
	if got.err != nil {
		p.t.Fatal(got.err)
	}
	return got
}

// get loads a page.
func (p *person) get(path string, header ...string) reply {
	p.t.Helper()
	return p.do(http.MethodGet, path, "", "", header...)
}

// post sends a form.
func (p *person) post(path, form string, header ...string) reply {
	p.t.Helper()
	return p.do(http.MethodPost, path, "application/x-www-form-urlencoded", form, header...)
}

// cookie returns the value of a cookie, or "".
func (p *person) cookie(name string) string {
	u := must.Get(url.Parse(p.door.url))
	for _, c := range p.client.Jar.Cookies(u) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

var tokenIn = regexp.MustCompile(`<input type="hidden" name="_semel" value="(sm1\.[A-Za-z0-9_-]{50})" autocomplete="off" data-semel-token>`)

// tokensIn returns those in a page.
func tokensIn(page string) []string {
	var all []string
	for _, found := range tokenIn.FindAllStringSubmatch(page, -1) {
		all = append(all, found[1])
	}
	return all
}

// token returns the only one.
func (p *person) token(path string) string {
	p.t.Helper()
	page := p.get(path)
	all := tokensIn(page.body)
	if len(all) != 1 {
		p.t.Fatalf("%s: got %d tokens, want 1: %s", path, len(all), page.body)
	}
	return all[0]
}

// TestFormOnce: a form that is sent twice is carried out once, and the application
// sees nothing of what makes it so (promises 1 and 2).
func TestFormOnce(t *testing.T) {
	t.Parallel()
	s := &shop{}
	p := openShop(t, s, "", nil).person(t)
	page := p.get("/new")
	if !strings.Contains(page.body, `<form method="post" action="/invoices"><input type="hidden" name="_semel" value="sm1.`) {
		t.Fatalf("the form got no token: %s", page.body)
	}
	if !strings.Contains(page.body, `<html lang="en"><script src="/.well-known/semel/guard.js`) || !strings.HasSuffix(page.body, `</form></body></html>`) {
		t.Errorf("the page got no script: %s", page.body)
	}
	body := "_semel=" + tokensIn(page.body)[0] + "&amount=42"
	first, second := p.post("/invoices", body), p.post("/invoices", body)
	for _, got := range []reply{first, second} {
		if got.status != http.StatusSeeOther || got.header.Get("Location") != "/invoices/1" {
			t.Errorf("got %d %q %s", got.status, got.header.Get("Location"), got.body)
		}
	}
	wantWord(t, "second", second, "replayed")
	posts := s.posts()
	if len(posts) != 1 {
		t.Fatalf("the application got %d POSTs, want 1", len(posts))
	}
	if got := posts[0]; got.body != "amount=42" || got.length != int64(len("amount=42")) || got.header.Get("Cookie") != "" {
		t.Errorf("the application got %+v", got)
	}
}

// digest64 is a SHA-256 as policies write it.
func digest64(content []byte) string {
	sum := sha256.Sum256(content)
	return base64.StdEncoding.EncodeToString(sum[:])
}
