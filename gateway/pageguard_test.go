package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/web"
)

const pageRules = `version: 1
routes:
  - name: orders
    match: {path: "/api/orders/{id}"}
    page: true
`

// bothRules protects the forms and the scripts of one route.
const bothRules = `version: 1
routes:
  - name: invoices
    match: {methods: [POST], path: /invoices}
    form: true
    page: true
`

// pageScript is the element of the page script, with its routes as JSON.
var pageScript = regexp.MustCompile(`<script src="/\.well-known/semel/page\.js\?v=[0-9a-f]{16}" data-semel-routes='([^']*)'([^>]*)></script>`)

// pageMasked is masked, with the element of the page script as P.
func pageMasked(page string) string { return masked(pageScript.ReplaceAllString(page, "P")) }

// TestPageGuardMarkup: where the script goes in a page.
func TestPageGuardMarkup(t *testing.T) {
	t.Parallel()
	const field = `<input type="hidden" name="_semel" value="T" autocomplete="off" data-semel-token>`
	for name, c := range map[string]struct {
		rules, page, want string // an empty want is the page as it is
		header            []string
	}{
		"a document":                               {pageRules, `<html><head><title>a</title></head><body><div id=root></div></body></html>`, `<html><head><title>a</title>P</head><body><div id=root></div></body></html>`, nil},
		"a document without a head":                {pageRules, `<title>a</title><body><p>b</body>`, `<title>a</title>P<body><p>b</body>`, nil},
		"no head and no body":                      {pageRules, `<title>a</title><p>b`, `<title>a</title><p>bP`, nil},
		"the end of a body alone":                  {pageRules, `<p>b</body>`, `<p>bP</body>`, nil},
		"elements before the head ends":            {pageRules, `<head><div></div></head><body>b</body>`, `<head><div></div></head><body>bP</body>`, nil},
		"heads in scripts, comments and templates": {pageRules, `<head><script>"</head>"</script><!-- </head> --><template></head></template><style></head></style></head>`, `<head><script>"</head>"</script><!-- </head> --><template></head></template><style></head></style>P</head>`, nil},
		"in a comment to its end":                  {pageRules, `<p>a<!-- `, "", nil},
		"an empty page":                            {pageRules, "", "P", nil},
		"a piece that a script loads":              {pageRules, `<p>a</p>`, "", []string{"Sec-Fetch-Mode", "cors", "Accept", "*/*"}},
		"a piece by plain http":                    {pageRules, `<p>a</p>`, "", []string{"Sec-Fetch-Mode", "", "Accept", "*/*"}},
		"a document that a worker loads":           {pageRules, `<head></head>`, `<head>P</head>`, []string{"Sec-Fetch-Mode", "cors", "Accept", "*/*"}},
		"XHTML":                                    {pageRules, `<html><head></head><body></body></html>`, `<html><head>P</head><body></body></html>`, nil},
		"XHTML without a head":                     {pageRules, `<html><body></body></html>`, `<html><body>P</body></html>`, nil},
		"XHTML without a body":                     {pageRules, `<html></html>`, "", nil},
		"a form that no rule takes":                {pageRules, `<head></head><form method=post action=/a>`, `<head>P</head><form method=post action=/a>`, nil},
		"a form of the same rule":                  {bothRules, `<head></head><form method=post action=/invoices></form>`, `<head>PS</head><form method=post action=/invoices>` + field + `</form>`, nil},
		"a form and no head":                       {bothRules, `<form method=post action=/invoices></form>`, `<form method=post action=/invoices>` + field + `</form>PS`, nil},
		"no form of the rule":                      {bothRules, `<head></head><form method=get action=/invoices></form>`, `<head>P</head><form method=get action=/invoices></form>`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			contentType := "text/html"
			if strings.HasPrefix(name, "XHTML") {
				contentType = "application/xhtml+xml; charset=utf-8"
			}
			d := openShop(t, showing(contentType, c.page), c.rules, nil)
			header := append([]string{"Accept", "text/html", "Sec-Fetch-Mode", "navigate"}, c.header...)
			if len(c.header) > 0 {
				header = c.header
			}
			got := d.send(t, http.MethodGet, "/", "", header...)
			want := c.want
			if want == "" {
				want = c.page
			}
			if diff := cmp.Diff(want, pageMasked(got.body)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if n := got.header.Get("Content-Length"); n != fmt.Sprint(len(got.body)) {
				t.Errorf("Content-Length is %s of %d", n, len(got.body))
			}
		})
	}
}

// TestPageGuardRoutes: the element names the rules with page of the page's host, in ASCII: closer paths first, and
// the headers of conditions.
func TestPageGuardRoutes(t *testing.T) {
	t.Parallel()
	const text = `version: 1
routes:
  - {name: rest, match: {path: "/api/"}, fingerprint_headers: [X-Tenant], page: true}
  - {name: "it's <b>&amp;</script> å 🦊", match: {methods: [PUT], path: "/é/{x...}"}, key: {header: x-wish}, page: {ignore: ["n'ö"], graphql: false}}
  - {name: one, match: {path: "/api/{id}"}, page: {graphql: true}}
  - {name: exact, match: {path: "/api/new"}, key: {derive: {window: 10s}}, page: {ignore: []}}
  - {name: end, match: {path: "/api/{$}"}, page: true}
  - {name: shop, match: {host: shop.test, path: "/api/"}, page: true}
  - {name: other, match: {host: other.test, path: "/api/"}, page: true}
  - {name: none, match: {path: /none, header: {x-action: [a]}}}
  - {name: form, match: {path: /form}, form: true}
`
	d := openShop(t, showing("text/html; charset=windows-1251", "<head></head>"), text, nil)
	for host, want := range map[string][]string{
		"127.0.0.1":       {"exact", "end", "rest", "one", "it's <b>&amp;</script> å 🦊"},
		"SHOP.test.:8080": {"shop", "exact", "end", "rest", "one", "it's <b>&amp;</script> å 🦊"},
		"other.test":      {"other", "exact", "end", "rest", "one", "it's <b>&amp;</script> å 🦊"},
	} {
		body := d.person(t).get("/", "Host", host).body
		var names []string
		for _, route := range routesIn(t, body) {
			names = append(names, route["name"].(string))
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("%s (-want +got):\n%s", host, diff)
		}
		if i := strings.IndexFunc(body, func(r rune) bool { return r > 0x7E }); i >= 0 {
			t.Errorf("%s: not ASCII from %q", host, body[i:])
		}
	}
	methods, header := []any{"POST", "PATCH"}, []any{"X-Action"}
	want := []map[string]any{
		{"name": "exact", "methods": methods, "path": "/api/new", "header": "Idempotency-Key", "ignore": []any{}, "headers": header},
		{"name": "end", "methods": methods, "path": "/api/{$}", "header": "Idempotency-Key", "headers": header},
		{"name": "rest", "methods": methods, "path": "/api/", "header": "Idempotency-Key", "headers": []any{"X-Action", "X-Tenant"}},
		{"name": "one", "methods": methods, "path": "/api/{id}", "header": "Idempotency-Key", "graphql": true, "headers": header},
		{"name": "it's <b>&amp;</script> å 🦊", "methods": []any{"PUT"}, "path": "/é/{x...}", "header": "X-Wish", "ignore": []any{"n'ö"}, "graphql": false, "headers": header},
	}
	if diff := cmp.Diff(want, routesIn(t, d.person(t).get("/").body)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// routesIn returns the routes of the page script's element, as a browser reads them.
func routesIn(t *testing.T, page string) (routes []map[string]any) {
	t.Helper()
	tree := must.Get(html.Parse(strings.NewReader(page)))
	for node := range tree.Descendants() {
		i := slices.IndexFunc(node.Attr, func(a html.Attribute) bool { return a.Key == "data-semel-routes" })
		if i < 0 {
			continue
		}
		if node.Data != "script" || node.Parent.Data != "head" || len(node.Attr) < 2 {
			t.Errorf("the element is a %s in %s", node.Data, node.Parent.Data)
		}
		if err := json.Unmarshal([]byte(node.Attr[i].Val), &routes); err != nil {
			t.Errorf("%q: %v", node.Attr[i].Val, err)
		}
	}
	return routes
}

// TestPageGuardOtherHosts: pages of a host that no rule with page is about stay as they are, and so do requests for them.
func TestPageGuardOtherHosts(t *testing.T) {
	t.Parallel()
	s := showing("text/html", "<head></head>", http.Header{"Etag": {`"v1"`}})
	d := openShop(t, s, "version: 1\nroutes:\n  - {name: a, match: {host: shop.test, path: /a}, page: true}\n", nil)
	for host, other := range map[string]bool{"shop.test": false, "elsewhere.test": true} {
		got := d.person(t).get("/", "Host", host, "If-None-Match", `"v1"`)
		if asked := s.last().header.Get("If-None-Match") != ""; asked != other || (got.body == "<head></head>") != other || (got.header.Get("Etag") == `"v1"`) != other {
			t.Errorf("%s: asked by its tag: %v; got %v %s", host, asked, got.header, got.body)
		}
	}
}

// TestPageGuardPolicies: the script runs under the page's policies, or the page stays as it is, which the log says once.
func TestPageGuardPolicies(t *testing.T) {
	t.Parallel()
	guard, page := must.Get(asset("guard.js")), must.Get(asset("page.js"))
	hash := func(content []byte) string { return "'sha256-" + digest64(content) + "'" }
	const src = "shop.test/.well-known/semel/page.js"
	for name, c := range map[string]struct {
		rules, policy, meta string
		want                string // of the header; "" for as it was
		attributes          string // of the script; "-" for no script
	}{
		"none":                {pageRules, "", "", "", ""},
		"self":                {pageRules, "script-src 'self'", "", "", ""},
		"a nonce":             {pageRules, "script-src 'strict-dynamic' 'nonce-AbC+/1='", "", "", ` nonce="AbC+/1="`},
		"a nonce in the page": {pageRules, "", "script-src 'nonce-x1'", "", ` nonce="x1"`},
		"nothing":             {pageRules, "default-src 'none'", "", "default-src 'none'; script-src " + src, ""},
		"hosts":               {pageRules, "script-src cdn.test", "", "script-src cdn.test " + src, ""},
		"hashes":              {pageRules, "script-src 'strict-dynamic' 'sha256-abc='", "", "script-src 'strict-dynamic' 'sha256-abc=' " + hash(page), ` integrity="` + strings.Trim(hash(page), "'") + `"`},
		"hashes, and a form":  {bothRules, "script-src 'strict-dynamic' 'sha256-abc='", "", "script-src 'strict-dynamic' 'sha256-abc=' " + hash(guard) + " " + hash(page), ` integrity="` + strings.Trim(hash(page), "'") + `"`},
		"nothing, and a form": {bothRules, "script-src 'none'", "", "script-src shop.test/.well-known/semel/guard.js " + src, ""},
		"nothing in the page": {pageRules, "", "script-src 'none'", "", "-"},
		"another nonce in it": {pageRules, "script-src 'nonce-x1'", "script-src 'nonce-x2'", "", "-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			meta := ""
			if c.meta != "" {
				meta = `<meta http-equiv="Content-Security-Policy" content="` + c.meta + `">`
			}
			body := "<html><head>" + meta + "</head><body><form method=post action=/invoices></form></body></html>"
			h := http.Header{"Etag": {`"v1"`}}
			if c.policy != "" {
				h.Set("Content-Security-Policy", c.policy)
			}
			var lines safeBuffer
			d := openShop(t, showing("text/html", body, h), c.rules, func(c *gateway.Config) { c.Logger = slog.New(slog.NewTextHandler(&lines, nil)) })
			var got reply
			for range 2 {
				got = d.person(t).get("/", "Host", "shop.test")
			}
			want := c.policy
			if c.want != "" {
				want = c.want
			}
			if got.header.Get("Content-Security-Policy") != want {
				t.Errorf("the policy became %q, want %q", got.header["Content-Security-Policy"], want)
			}
			found := pageScript.FindStringSubmatch(got.body)
			left := c.attributes == "-"
			if left != (found == nil) || !left && found[2] != c.attributes {
				t.Errorf("the script: got %q, want the attributes %q", found, c.attributes)
			}
			if left && (got.body != body || got.header.Get("Etag") == "") {
				t.Errorf("the page became %v %s", got.header, got.body)
			}
			if n := strings.Count(lines.String(), "without the page script"); n > 1 || (n == 1) != left {
				t.Errorf("the log says\n%s", lines.String())
			}
			if strings.Contains(lines.String(), "a form is taken by no rule") {
				t.Errorf("no rule is about forms, and the log says\n%s", lines.String())
			}
			if counted := strings.Contains(d.metrics(t), `semel_pages_total{result="csp"} 2`); counted != left {
				t.Errorf("counted as left out: %v", counted)
			}
		})
	}
}

// asset returns the content of a script.
func asset(name string) ([]byte, error) {
	file, ok := web.File(name)
	if !ok {
		return nil, fmt.Errorf("no %s", name)
	}
	return file.Content, nil
}

// TestPageGuardPages: coded, long, streamed and unreadable pages, and other answers.
func TestPageGuardPages(t *testing.T) {
	t.Parallel()
	const page = `<html><head></head><body>a</body></html>`
	long := strings.Replace(page, "</body>", strings.Repeat("<p>0123456789 text &amp; more</p>\n", 8000)+"</body>", 1)
	late := strings.Replace(page, "</head>", "<style>"+strings.Repeat(".card{color:#123}\n", 8000)+"</style></head>", 1)
	for name, c := range map[string]struct {
		method, coding, body string
		header               http.Header
		status               int
		flush                int  // so many bytes go out first
		early                bool // the header goes out first
		scripted             bool
		private              bool // the header goes out before the head is known
	}{
		"plain":            {body: page, scripted: true},
		"gzip":             {coding: "gzip", body: page, scripted: true},
		"br":               {coding: "br", body: long, scripted: true},
		"zstd":             {coding: "zstd", body: late, scripted: true},
		"long":             {body: long, scripted: true},
		"a long head":      {body: late, scripted: true, private: true},
		"flushed":          {body: page, flush: len("<html><head>"), scripted: true},
		"flushed after":    {body: page, flush: len("<html><head></head>"), scripted: true},
		"flushed early":    {body: page, early: true, scripted: true},
		"not found":        {body: page, status: http.StatusNotFound, scripted: true},
		"answer to a POST": {method: http.MethodPost, body: page, scripted: true},
		"no-transform":     {body: page, header: http.Header{"Cache-Control": {"no-transform"}}},
		"another charset":  {body: page, header: http.Header{"Content-Type": {"text/html; charset=utf-16le"}}},
		"not what it says": {body: page, header: http.Header{"Content-Encoding": {"gzip"}}},
		"too long":         {body: page + strings.Repeat(" ", 512<<10)},
		"attachment":       {body: page, header: http.Header{"Content-Disposition": {"attachment"}}},
		"JSON":             {body: `{"a":"</head>"}`, header: http.Header{"Content-Type": {"application/json"}}},
		"a part":           {body: page, header: http.Header{"Content-Range": {"bytes 0-9/99"}}, status: http.StatusPartialContent},
		"not modified":     {status: http.StatusNotModified, header: http.Header{"Etag": {`"v1"`}}},
		"no content":       {status: http.StatusNoContent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent, method, status := string(coded(t, c.coding, c.body)), http.MethodGet, http.StatusOK
			if c.method != "" {
				method = c.method
			}
			if c.status != 0 {
				status = c.status
			}
			show := func(w http.ResponseWriter, _ *http.Request) {
				h := w.Header()
				h.Set("Content-Type", "text/html; charset=utf-8")
				if c.coding != "" {
					h.Set("Content-Encoding", c.coding)
				}
				maps.Copy(h, c.header)
				if c.flush == 0 && !c.early && sent != "" {
					h.Set("Content-Length", fmt.Sprint(len(sent)))
				}
				w.WriteHeader(status)
				if c.early {
					_ = http.NewResponseController(w).Flush()
				}
				_, _ = io.WriteString(w, sent[:c.flush])
				if c.flush > 0 {
					_ = http.NewResponseController(w).Flush()
				}
				_, _ = io.WriteString(w, sent[c.flush:])
			}
			d := openShop(t, &shop{page: show, post: show}, pageRules, func(c *gateway.Config) { c.MaxPageBytes = 400 << 10 })
			p := d.person(t, "Accept-Encoding", "gzip, br, zstd")
			got := p.do(method, "/", "", "")
			if !c.scripted {
				if got.body != sent {
					t.Errorf("the page became %.200q", got.body)
				}
				for name := range c.header {
					if got.header.Get(name) != c.header.Get(name) {
						t.Errorf("%s became %q", name, got.header[name])
					}
				}
				return
			}
			text := plain(t, got)
			if want := strings.Replace(c.body, "</head>", "P</head>", 1); pageMasked(text) != want {
				t.Errorf("got %.300s", pageMasked(text))
			}
			if n := got.header.Get("Content-Length"); n != "" && n != fmt.Sprint(len(got.body)) {
				t.Errorf("Content-Length is %s of %d", n, len(got.body))
			}
			before := c.flush == len("<html><head>") // the header goes out when the head is known, or is not yet
			if got.header.Get("Set-Cookie") != "" || !before && (got.header.Get("Cache-Control") == "private, no-cache") != c.private {
				t.Errorf("got %v", got.header)
			}
		})
	}
}

// TestPageGuardKeys: a request with the key of the script happens once, with derived keys as well; one without is as without page.
func TestPageGuardKeys(t *testing.T) {
	t.Parallel()
	s := &shop{post: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }}
	d := openShop(t, s, `version: 1
routes:
  - {name: orders, match: {path: /orders}, page: true}
  - {name: derived, match: {path: /derived}, key: {derive: {window: 60s}}, page: true}
  - {name: buy, match: {path: /graphql, json: {/operationName: Buy}}, page: true}
  - {name: sell, match: {path: /graphql, json: {/operationName: Sell}}, page: true}
`, nil)
	script := []string{"Origin", d.url, "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"}
	body := `{"a":1}`
	post := func(path string, header ...string) reply {
		return d.send(t, http.MethodPost, path, body, append(header, script...)...)
	}
	const own, other, program = "semel-page-7d3e1a52-1f58-4c55-8f6b-4f0a2f2a6f10", "semel-page-0b1c2d3e-0000-4c55-8f6b-4f0a2f2a6f10", "7d3e1a52-1f58-4c55-8f6b-4f0a2f2a6f10"
	for _, c := range []struct{ path, key, want string }{
		{"/orders", program, "executed"},
		{"/orders", "", ""},
		{"/orders", "", ""},
		{"/orders", own, "executed"},
		{"/orders", own, "replayed"},
		{"/derived", "", "executed"},
		{"/derived", "", "replayed"},
		{"/derived", own, "executed"}, // wins over the derived one
		{"/derived", other, "executed"},
		{"/derived", other, "replayed"},
	} {
		var header []string
		if c.key != "" {
			header = []string{"Idempotency-Key", `"` + c.key + `"`}
		}
		wantWord(t, c.path+" "+c.key, post(c.path, header...), c.want)
	}
	body = `{"a":1,"csrf_token":"another"}`
	wantWord(t, "the script decides about the content", post("/orders", "Idempotency-Key", `"`+own+`"`), "replayed")
	check(t, "but not about the address", post("/orders?a=1", "Idempotency-Key", `"`+own+`"`), http.StatusUnprocessableEntity, "key-reused")
	check(t, "a key of the application's own", post("/orders", "Idempotency-Key", `"`+program+`"`), http.StatusUnprocessableEntity, "key-reused")
	body = `{"operationName":"Buy"}`
	wantWord(t, "one operation", post("/graphql", "Idempotency-Key", `"`+own+`"`), "executed")
	body = `{"operationName":"Sell"}`
	check(t, "nor about the route", post("/graphql", "Idempotency-Key", `"`+own+`"`), http.StatusUnprocessableEntity, "key-reused")
	body = `{"a":1}`
	wantWord(t, "Firefox", post("/orders", "Idempotency-Key", `"11928949335802111766"`, "User-Agent", "Mozilla/5.0 Firefox/153.0"), "executed")
	ambiguous := d.send(t, http.MethodPost, "/orders", "--a--", "Content-Type", `multipart/form-data; boundary="a"; boundary=b`)
	check(t, "a form that gateways of forms refuse", ambiguous, http.StatusCreated, "")
	for _, want := range []string{`semel_page_keys_total{route="orders"} 4`, `semel_page_keys_total{route="derived"} 3`} {
		if !strings.Contains(d.metrics(t), want+"\n") {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

// TestPageGuardInFlight: the script can tell that an earlier attempt is at work where the rule or the request wants another answer.
func TestPageGuardInFlight(t *testing.T) {
	t.Parallel()
	begun, goOn := make(chan struct{}), make(chan struct{})
	s := &shop{post: func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-goOn
		w.WriteHeader(http.StatusCreated)
	}}
	d := openShop(t, s, "version: 1\nroutes:\n  - {name: orders, match: {path: /orders}, wait: 0s, in_flight_status: 503, page: true}\n", nil)
	send := func(header ...string) reply {
		return d.send(t, http.MethodPost, "/orders", "{}", append(header, "Idempotency-Key", `"semel-page-7d3e1a52-1f58-4c55-8f6b-4f0a2f2a6f10"`)...)
	}
	first := make(chan reply)
	go func() { first <- send() }()
	<-begun
	for _, accept := range []string{"*/*", "text/vnd.turbo-stream.html, text/html, application/xhtml+xml"} {
		got := send("Accept", accept)
		if name := got.header.Get("Semel-Problem"); got.status != http.StatusConflict || name != "urn:semel:problem:in-flight" || got.header.Get("Retry-After") == "" {
			t.Errorf("%s: got %d %v", accept, got.status, got.header)
		}
	}
	close(goOn)
	if got := <-first; got.status != http.StatusCreated || got.header.Get("Semel-Problem") != "" {
		t.Errorf("got %d %v", got.status, got.header)
	}
}

// TestPageGuardBesideForm: a form that a script sends is the intent of its token, with any key of the page script.
func TestPageGuardBesideForm(t *testing.T) {
	t.Parallel()
	s := &shop{}
	p := openShop(t, s, bothRules, nil).person(t)
	body := "a=1&_semel=" + p.token("/new")
	for i, want := range []string{"executed", "replayed"} {
		wantWord(t, want, p.post("/invoices", body, "Idempotency-Key", fmt.Sprint(i)), want)
	}
	s.wantPosts(t, 1)
}

// TestPageGuardWithoutStore: while the store does not answer, forms get no tokens, and pages their script.
func TestPageGuardWithoutStore(t *testing.T) {
	t.Parallel()
	store := breakable(t)
	d := openShop(t, &shop{}, bothRules, func(c *gateway.Config) { c.Store = store })
	store.Partition()
	if got := d.person(t).get("/"); pageMasked(got.body) != strings.Replace(formPage, "<body>", "P<body>", 1) || got.header.Get("Set-Cookie") != "" {
		t.Errorf("got %v %s", got.header, got.body)
	}
	if !strings.Contains(d.metrics(t), `semel_pages_total{result="no-secret"} 1`) {
		t.Error("the page without tokens is not counted")
	}
	store.Heal()
}

// TestPageGuardReport: what pages of this site report is counted, within bounds, and logged once; nothing reaches the application.
func TestPageGuardReport(t *testing.T) {
	t.Parallel()
	const path = "/.well-known/semel/page"
	var lines safeBuffer
	s := &shop{}
	d := openShop(t, s, pageRules+"  - {name: plain, match: {path: /plain}}\n", func(c *gateway.Config) { c.Logger = slog.New(slog.NewTextHandler(&lines, nil)) })
	same := []string{"Sec-Fetch-Site", "same-origin", "Origin", d.url}
	for name, c := range map[string]struct {
		method, body string
		header       []string
		want         int
	}{
		"two kinds":            {"POST", `{"orders":{"stream":2,"beacon":1}}`, same, 204},
		"again, by plain http": {"POST", `{"orders":{"stream":1}}`, []string{"Origin", d.url}, 204},
		"others":               {"POST", `{"orders":{"sync":5000,"other":7,"large":0},"plain":{"stream":1},"nothing":{"stream":1}}`, same, 204},
		"nothing":              {"POST", `{}`, same, 204},
		"too long":             {"POST", `{"orders":{"stream":9}}` + strings.Repeat(" ", 4<<10), same, 413},
		"negative":             {"POST", `{"orders":{"stream":-1}}`, same, 400},
		"not a report":         {"POST", `[1]`, same, 400},
		"not JSON":             {"POST", `orders=1`, same, 400},
		"another site":         {"POST", `{"orders":{"stream":9}}`, []string{"Sec-Fetch-Site", "cross-site", "Origin", d.url}, 403},
		"a subdomain":          {"POST", `{"orders":{"stream":9}}`, []string{"Sec-Fetch-Site", "same-site", "Origin", d.url}, 403},
		"another origin":       {"POST", `{"orders":{"stream":9}}`, []string{"Origin", "http://evil.test"}, 403},
		"no origin":            {"POST", `{"orders":{"stream":9}}`, nil, 403},
		"GET":                  {"GET", "", same, 405},
	} {
		got := d.send(t, c.method, path, c.body, c.header...)
		if got.err != nil || got.status != c.want || c.want == http.StatusNoContent && got.body != "" {
			t.Errorf("%s: got %d %q %v, want %d", name, got.status, got.body, got.err, c.want)
		}
	}
	metrics := d.metrics(t)
	for kind, want := range map[string]string{"stream": "3", "beacon": "1", "sync": "1000", "large": "0"} {
		if line := fmt.Sprintf(`semel_page_unprotected_total{kind="%s",route="orders"} %s`, kind, want); !strings.Contains(metrics, line+"\n") {
			t.Errorf("the metrics lack %s", line)
		}
	}
	if n := strings.Count(metrics, "semel_page_unprotected_total{"); n != 4 {
		t.Errorf("%d series", n)
	}
	if text := lines.String(); strings.Count(text, "level=WARN") != 3 || strings.Count(text, "route=orders kind=stream") != 1 {
		t.Errorf("the log says\n%s", text)
	}
	if s.wantPosts(t, 0); len(s.asks) > 0 {
		t.Errorf("the application got %v", s.asks)
	}
}

// TestPageGuardScript: the gateway serves the script that its pages name, for ever.
func TestPageGuardScript(t *testing.T) {
	t.Parallel()
	d := openShop(t, &shop{}, pageRules, nil)
	source := regexp.MustCompile(`src="([^"]*)"`).FindStringSubmatch(d.person(t).get("/").body)
	if source == nil {
		t.Fatal("the page has no script")
	}
	got := d.send(t, http.MethodGet, source[1], "")
	if want := must.Get(asset("page.js")); got.body != string(want) || !strings.Contains(got.header.Get("Cache-Control"), "immutable") {
		t.Errorf("got %d %v", got.status, got.header)
	}
}

// TestPageGuardFlushOfHeader: what a handler writes after a flush of its header alone goes out at once, though the handler goes on.
func TestPageGuardFlushOfHeader(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	g := must.Get(gateway.New(&gateway.Config{Store: memstore.New(nil), Rules: must.Get(rules.Parse("rules", []byte(pageRules))), Next: func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Type", "text/html")
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, "<html><head></head><body>first")
		<-goOn
		return nil
	}}))
	server := httptest.NewServer(g.Handler())
	t.Cleanup(server.Close)
	t.Cleanup(func() { noError(t, g.Close()) })
	end := sync.OnceFunc(func() { close(goOn) })
	late := time.AfterFunc(20*time.Second, end) // a bound, for code that holds the piece back
	t.Cleanup(func() { late.Stop(); end() })
	answer := must.Get(server.Client().Do(must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)))) //nolint:bodyclose // deferred below.
	defer answer.Body.Close()
	var text string
	for piece := make([]byte, 1024); !strings.Contains(text, "first"); {
		n, err := answer.Body.Read(piece)
		if text += string(piece[:n]); err != nil {
			break
		}
	}
	select {
	case <-goOn:
		t.Errorf("the first piece came when the handler had ended: %q", text)
	default:
	}
}
