package gateway_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/formguard"
	"github.com/semel-dev/semel/internal/must"
)

const restoreRules = `version: 1
routes:
  - name: invoices
    match: {methods: [POST], path: "/invoices/{id}"}
    form: {restore_redirect: true}
    response_limit: 64KiB
`

// answering is an application that answers a form with a page.
func answering(page string) *shop {
	return &shop{
		page: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, `<html><body>`+r.URL.Path+`<form method=post action=/invoices/7></form>`)
		},
		post: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Set-Cookie", "flash=1")
			w.Header().Set("Content-Length", strconv.Itoa(len(page)))
			_, _ = io.WriteString(w, page)
		},
	}
}

// TestRestoreRedirect: a form that is answered with a page leads to a page that can
// be loaded again, by its sender alone (promises 2 and 5).
func TestRestoreRedirect(t *testing.T) {
	t.Parallel()
	const page = `<html><body>Thank you<form method=post action=""></form></body></html>`
	s := answering(page)
	d := openShop(t, s, restoreRules, nil)
	p := d.person(t)
	body := "_semel=" + p.token("/new") + "&a=1"
	var where string
	for _, want := range []string{"executed", "replayed"} {
		got := p.post("/invoices/7?x=1", body)
		location := got.header.Get("Location")
		if got.status != http.StatusSeeOther || got.word() != want || got.body != "" || where != "" && location != where {
			t.Fatalf("got %d %q %q, want 303 %s %s", got.status, location, got.word(), want, where)
		}
		if !strings.HasPrefix(location, "/invoices/7?x=1&_semel=") || strings.Contains(location, "sm1.") {
			t.Fatalf("it leads to %q", location)
		}
		if flash := strings.Join(got.header["Set-Cookie"], " "); (want == "executed") != strings.Contains(flash, "flash=1") {
			t.Errorf("%s: cookies %q", want, flash)
		}
		where = location
	}
	before, given := len(s.posts()), map[string]bool{}
	for range 2 { // a reload
		got := p.get(where)
		tokens := tokensIn(got.body)
		if got.status != http.StatusOK || !strings.Contains(got.body, "Thank you") || len(tokens) != 1 {
			t.Fatalf("got %d %s", got.status, got.body)
		}
		if strings.Contains(body, tokens[0]) || given[tokens[0]] {
			t.Errorf("a form in the page that is shown again has a token of before")
		}
		given[tokens[0]] = true
	}
	again := tokensIn(p.get(where).body)
	if len(again) != 1 {
		t.Fatalf("the page's own form: got %d tokens", len(again))
	}
	if got := p.post(where, "_semel="+again[0]+"&a=2"); got.status != http.StatusSeeOther || strings.Count(got.header.Get("Location"), "_semel=") != 1 {
		t.Errorf("the page's own form: got %d %q", got.status, got.header.Get("Location"))
	}
	if got := s.posts()[before]; got.uri != "/invoices/7?x=1" {
		t.Errorf("the application was asked for %s", got.uri)
	}
	stranger := d.person(t)
	stranger.get("/new")
	wrong := where[:len(where)-1] + "!"
	for name, got := range map[string]reply{
		"somebody else": stranger.get(where),
		"nobody":        d.send(t, http.MethodGet, where, "", "Accept", "text/html"),
		"another path":  p.get(strings.Replace(where, "/7", "/8", 1)),
		"another page":  p.get(where[:len(where)-2] + "AA"),
	} {
		if got.status != http.StatusNotFound || strings.Contains(got.body, "Thank you") {
			t.Errorf("%s: got %d %s", name, got.status, got.body)
		}
	}
	if got := p.get(wrong); got.status != http.StatusOK || strings.Contains(got.body, "Thank you") {
		t.Errorf("another value belongs to the application: got %d %s", got.status, got.body)
	}
	if len(s.posts()) != before+1 {
		t.Errorf("the application got %d POSTs, want %d", len(s.posts()), before+1)
	}
}

// TestRestoreOnlyPages: other answers stay as they are.
func TestRestoreOnlyPages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status      int
		contentType string
		body        string
	}{
		"a mistake":      {http.StatusUnprocessableEntity, "text/html", "<p>no"},
		"no page":        {http.StatusOK, "application/json", "{}"},
		"a long page":    {http.StatusOK, "text/html", strings.Repeat("<p>text", 20000)},
		"a server error": {http.StatusInternalServerError, "text/html", "<p>oh"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := answering("")
			s.post = func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", c.contentType)
				if r.URL.RawQuery != "" {
					w.Header().Set("Content-Length", strconv.Itoa(len(c.body)))
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}
			p := openShop(t, s, restoreRules, nil).person(t)
			for _, target := range []string{"/invoices/7", "/invoices/7?length"} {
				got := p.post(target, "_semel="+p.token("/new")+"&a=1")
				if got.status != c.status || got.body != c.body {
					t.Errorf("%s: got %d %.100s", target, got.status, got.body)
				}
			}
		})
	}
}

// TestRestoreCutOff: a page that breaks off is not shown again.
func TestRestoreCutOff(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("<p>text", 10<<10) // more than is read before it is passed on
	app := rawAnswers(t, func(conn net.Conn, r *http.Request) bool {
		page, length := `<form method=post action=/invoices/7>`, 37
		if r.Method == http.MethodPost {
			page, length = long, len(long)+9
		}
		_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: "+strconv.Itoa(length)+"\r\n\r\n"+page)
		return err == nil && length == len(page)
	})
	d := openRuled(t, app, strings.Replace(restoreRules, "64KiB", "256KiB", 1))
	p := d.person(t)
	got := d.sendContext(t.Context(), http.MethodPost, "/invoices/7", strings.NewReader("_semel="+p.token("/new")+"&a=1"),
		"Content-Type", urlencoded, "Cookie", "semel_visitor="+p.cookie("semel_visitor"))
	if got.status == http.StatusSeeOther {
		t.Errorf("got %d %q", got.status, got.header.Get("Location"))
	}
}

// TestFormOutcomes: a cookie gives the page the outcomes of the last forms, and a
// reader whose form had been sent before sees a notice, once.
func TestFormOutcomes(t *testing.T) {
	t.Parallel()
	s := &shop{}
	s.page = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Query().Get("lang") == "hi" {
			w.Header().Set("Content-Security-Policy", "style-src 'self'")
		}
		if r.URL.Path == "/invoices/1" {
			_, _ = io.WriteString(w, `<html lang="`+r.URL.Query().Get("lang")+`"><body class=a>Invoice 1`)
			return
		}
		_, _ = io.WriteString(w, formPage)
	}
	d := openShop(t, s, "", nil)
	for language, text := range map[string]string{"": "had already sent", "sv-FI": "redan skickat", "hi": "&#2346;&#2361;&#2354;&#2375; &#2361;&#2368;", "zh-Hans": "&#24050;&#32463;&#25552;&#20132;&#36807;"} {
		p := d.person(t, "Accept-Language", "fr, en;q=0.5")
		body := "_semel=" + p.token("/new") + "&a=1"
		p.post("/invoices", body)
		id, _, _ := strings.Cut(p.cookie("semel_outcome"), ":")
		if got := p.cookie("semel_outcome"); !strings.HasSuffix(got, ":executed:303") || len(id) != 22 {
			t.Errorf("first: %q", got)
		}
		if page := p.get("/invoices/1"); strings.Contains(page.body, "semel-notice") {
			t.Errorf("after the first: %s", page.body)
		}
		p.post("/invoices", body)
		if got := p.cookie("semel_outcome"); got != id+":replayed:303" {
			t.Errorf("second: %q", got)
		}
		page := p.get("/invoices/1?lang=" + language)
		sheet := regexp.MustCompile(`<body class=a><link rel="stylesheet" href="([^"]+)" />`).FindStringSubmatch(page.body)
		if sheet == nil {
			t.Errorf("%s: no style sheet: %s", language, page.body)
		} else if css := p.get(sheet[1]); css.header.Get("Content-Type") != "text/css; charset=utf-8" || !strings.Contains(css.body, ".semel-notice {") {
			t.Errorf("%s: got %d %v %s", language, css.status, css.header, css.body)
		}
		if !strings.Contains(page.body, `/><p class="semel-notice" role="status" dir="auto" lang="`) || !strings.Contains(page.body, text) {
			t.Errorf("%s: got %s", language, page.body)
		}
		if got := p.cookie("semel_outcome"); got != id+":seen:303" {
			t.Errorf("after the notice: %q", got)
		}
		if page := p.get("/invoices/1"); strings.Contains(page.body, "semel-notice") {
			t.Errorf("the notice appears twice: %s", page.body)
		}
	}
}

// TestNoticeStyle: the notice has its style under any policy that can be made to let it, and no policy allows more than that.
func TestNoticeStyle(t *testing.T) {
	t.Parallel()
	const id = "AAAAAAAAAAAAAAAAAAAAAA"
	const own = "/.well-known/semel/notice.css"
	for policy, c := range map[string]struct{ nonce, adds string }{
		"":                                     {},
		"default-src 'self'":                   {},
		"default-src 'none'; style-src 'self'": {},
		"default-src 'none'":                   {adds: "default-src 'none'; style-src HOST"},
		"style-src 'unsafe-inline'":            {adds: "style-src 'unsafe-inline' HOST"},
		"style-src 'nonce-abc123'":             {nonce: "abc123"},

		"style-src-elem 'none'; style-src 'self'":    {adds: "style-src-elem HOST; style-src 'self'"},
		"style-src https://cdn.test; img-src 'self'": {adds: "style-src https://cdn.test HOST; img-src 'self'"},
	} {
		header := http.Header{}
		if policy != "" {
			header.Set("Content-Security-Policy", policy)
		}
		d := openShop(t, showing("text/html", "<html><body>Invoice 1", header), "", nil)
		got := d.send(t, http.MethodGet, "/invoices/1", "", "Accept", "text/html", "Cookie", "semel_outcome="+id+":replayed:303")
		want := policy
		if c.adds != "" {
			want = strings.ReplaceAll(c.adds, "HOST", strings.TrimPrefix(d.url, "http://")+own)
		}
		if have := got.header.Get("Content-Security-Policy"); have != want {
			t.Errorf("%q: the policy is %q, want %q", policy, have, want)
		}
		nonce := ""
		if c.nonce != "" {
			nonce = ` nonce="` + c.nonce + `"`
		}
		if !regexp.MustCompile(`<body><link rel="stylesheet" href="` + regexp.QuoteMeta(own) + `\?v=[0-9a-f]{16}"` + nonce + ` /><p class="semel-notice"`).MatchString(got.body) {
			t.Errorf("%q: got %s", policy, got.body)
		}
	}
}

// TestStaleOutcome: of a form that was refused the cookie says so, that the script does not send it again in a fresh one.
func TestStaleOutcome(t *testing.T) {
	t.Parallel()
	d := openShop(t, &shop{}, "", nil)
	p, other := d.person(t), d.person(t)
	p.token("/new")
	token := other.token("/new")
	id, ok := formguard.NameOf(token)
	if got := p.post("/invoices", "_semel="+token+"&a=1"); got.status != http.StatusConflict || !ok {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	if got, want := p.cookie("semel_outcome"), id+":refused:409"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestForgedOutcomes: a forged cookie does not come back.
func TestForgedOutcomes(t *testing.T) {
	t.Parallel()
	d := openShop(t, &shop{}, "", nil)
	const id = "AAAAAAAAAAAAAAAAAAAAAA"
	for _, forged := range []string{
		`<script>:replayed:200`, id + `:replayed:<b>`, id + `:evil:200`, strings.Repeat(id+":replayed:200/", 500), id + ":replayed:200:x", id + ":replayed:404",
		id + ":replayed:200/BBBBBBBBBBBBBBBBBBBBBB:evil:200",
	} {
		got := d.send(t, http.MethodGet, "/new", "", "Accept", "text/html", "Cookie", "semel_outcome="+forged)
		text := got.body + strings.Join(got.header["Set-Cookie"], "\n")
		if strings.Contains(text, "<b>") || strings.Contains(text, "evil") || strings.Contains(text, "<script>:") || strings.Count(text, id) > 8 {
			t.Errorf("%.60s: got %s", forged, text)
		}
		if strings.Contains(got.body, "semel-notice") != strings.HasPrefix(forged, id+":replayed:200/") {
			t.Errorf("%.60s: got %s", forged, got.body)
		}
	}
}

// TestFormWords: the cookie says of every end of a form what it was.
func TestFormWords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		want   string
	}{"mistake": {422, "executed:422"}, "signed out": {401, "refused:401"}, "failed": {500, "refused:500"}} {
		s := &shop{post: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(c.status) }}
		p := openShop(t, s, "", nil).person(t)
		p.post("/invoices", "_semel="+p.token("/new")+"&a=1")
		if got := p.cookie("semel_outcome"); !strings.HasSuffix(got, ":"+c.want) {
			t.Errorf("%s: got %q, want %s", name, got, c.want)
		}
	}
	s := &shop{post: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }}
	p := openShop(t, s, "", nil).person(t)
	body := "_semel=" + p.token("/new") + "&a=1"
	for range 2 {
		p.post("/invoices", body)
		if got := p.cookie("semel_outcome"); !strings.HasSuffix(got, ":unknown:502") && !strings.HasSuffix(got, ":unknown:409") {
			t.Errorf("unknown: got %q", got)
		}
	}
	for i := range 12 {
		var fresh struct{ Token string }
		noError(t, json.Unmarshal([]byte(p.get("/.well-known/semel/new?for=/orders").body), &fresh))
		p.post("/orders", "_semel="+fresh.Token+"&a="+strconv.Itoa(i))
	}
	if got := strings.Split(p.cookie("semel_outcome"), "/"); len(got) != 8 {
		t.Errorf("the cookie holds %d outcomes, want 8: %q", len(got), got)
	}
}

// TestRestoreStaysHere: the redirect leads to the host that was asked, whatever the path looks like.
func TestRestoreStaysHere(t *testing.T) {
	t.Parallel()
	s := answering("<p>Thank you")
	d := openShop(t, s, strings.Replace(restoreRules, "/invoices/{id}", "/{shop}/{id}", 1), nil)
	p := d.person(t)
	token := p.token("/new")
	got := p.post("//elsewhere.test/7", "_semel="+token+"&a=1")
	at := must.Get(url.Parse(d.url + "//elsewhere.test/7"))
	to, err := at.Parse(got.header.Get("Location"))
	if err != nil || got.status != http.StatusSeeOther || "http://"+to.Host != d.url || to.Path != "//elsewhere.test/7" {
		t.Errorf("got %d %q: %v", got.status, got.header.Get("Location"), to)
	}
}

// TestOwnCookiesOfOthers: what the application says about the gateway's cookies does
// not reach the browser; the rest of its cookies does.
func TestOwnCookiesOfOthers(t *testing.T) {
	t.Parallel()
	say := func(w http.ResponseWriter) {
		for _, line := range []string{"a=1", "semel_visitor=AAAAAAAAAAAAAAAAAAAAAA; Path=/", " semel_outcome =x", "semel_visitor", "__Host-semel_visitor=AAAAAAAAAAAAAAAAAAAAAA; Path=/; Secure", "semel_visitors=2"} {
			w.Header().Add("Set-Cookie", line)
		}
	}
	s := &shop{
		page: func(w http.ResponseWriter, r *http.Request) {
			say(w)
			if r.URL.Path == "/new" {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, formPage)
			}
		},
		post: func(w http.ResponseWriter, _ *http.Request) { say(w) },
	}
	p := openShop(t, s, "", nil).person(t)
	page := p.get("/new")
	visitor := p.cookie("semel_visitor")
	answers := map[string]reply{"page": page, "form": p.post("/invoices", "_semel="+tokensIn(page.body)[0]+"&a=1"), "other": p.get("/other"), "JSON": p.post("/x", "a=1")}
	for name, got := range answers {
		text := strings.Join(got.header["Set-Cookie"], "\n")
		if strings.Contains(text, "AAAA") || strings.Contains(text, "semel_outcome =x") || !strings.HasPrefix(text, "a=1\nsemel_visitors=2") {
			t.Errorf("%s: got %q", name, text)
		}
	}
	if got := p.cookie("semel_visitor"); got != visitor || visitor == "" || strings.HasPrefix(visitor, "AAAA") {
		t.Errorf("the visitor was %q, is %q", visitor, got)
	}
}
