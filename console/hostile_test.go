package console_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/semelhttp"
)

// A store that fails while a verdict is sent: the page does not say that nothing happened, and keeps what was typed.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	l := openLively(t)
	digest := l.lose(t, "shop", "k", "")
	b := l.logIn(t, aliceToken)
	path := "/console/records/" + digest.String()
	_, page := b.get(path)
	form := url.Values{"form": {hidden(t, page, "form")}, "seen": {hidden(t, page, "seen")}, "as": {"released"}, "reason": {"<i>the bank</i> says no"}}
	l.store.down.Store(true)
	status, page := b.post(path, form)
	if status != http.StatusServiceUnavailable {
		t.Errorf("got status %d", status)
	}
	contains(t, page, "The store does not answer", "It is not certain whether the verdict was taken", "!Nothing was changed", "&lt;i&gt;the bank&lt;/i&gt; says no", `action="`+path+`"`)
	_, front := b.get("/console/")
	contains(t, front, "The store does not answer, so", "All counts of this process", "!answered a read")
	for _, path := range []string{"/console/records?scope=shop&name=k", path} {
		status, page := b.get(path)
		if path == "/console/records/"+digest.String() && status != http.StatusServiceUnavailable {
			t.Errorf("%s: got status %d", path, status)
		}
		contains(t, page, "!<textarea", "</html>")
	}

	l.store.down.Store(false)
	status, page = b.post(path, url.Values{"form": {hidden(t, page, "form")}, "seen": {hidden(t, page, "seen")}, "as": {"released"}, "reason": form["reason"]})
	if status != http.StatusOK {
		t.Errorf("sent again: got status %d: %s", status, page)
	}
	if _, err := l.store.Lookup(t.Context(), digest); err == nil {
		t.Error("the verdict was not taken")
	}
}

// Promise 10: no way of writing a path gets around the log-in, and none leads from the console to another address.
func TestPaths(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.answer(t, "shop", "done", "secret body")
	b := w.browser(t)
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, path := range []string{
		"/console/./records", "/console/../console/records", "//console/records", "/console//records", "/console/%2e%2e/console/records", "/console/records/..%2frecords",
		"/console/records/", "/console/records%00", "/CONSOLE/records", "/console/%2e/records", "/console;x/records", "/console/login", "/console/templates/record.html", "/console/console.go",
	} {
		r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, w.url, nil))
		r.URL.Opaque = "//" + r.URL.Host + path // as it is written
		answer, err := b.Do(r)
		noError(t, err)
		noError(t, answer.Body.Close())
		if to := answer.Header.Get("Location"); answer.StatusCode < 300 || to != "" && !strings.HasPrefix(to, "/console/") {
			t.Errorf("%s: got status %d and location %q", path, answer.StatusCode, to)
		}
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPatch, "TRACE"} {
		r := must.Get(http.NewRequestWithContext(t.Context(), method, w.url+"/console/records", nil))
		if status, page := b.do(r); status < 400 || strings.Contains(page, "shop") {
			t.Errorf("%s: got status %d: %s", method, status, page)
		}
	}
}

// Promise 10: a cookie that was planted before the log-in opens no session after it.
func TestFixation(t *testing.T) {
	t.Parallel()
	w := open(t)
	b := w.browser(t)
	planted := &http.Cookie{Name: "semel_console", Value: "planted", Path: "/"}
	b.Jar.SetCookies(must.Get(url.Parse(w.url)), []*http.Cookie{planted})
	if _, page := b.post("/console/login", url.Values{"token": {aliceToken}}); !strings.Contains(page, "Overview") {
		t.Fatalf("log in: %s", page)
	}
	thief := w.browser(t)
	thief.Jar.SetCookies(must.Get(url.Parse(w.url)), []*http.Cookie{planted})
	if status, _ := thief.get("/console/"); status != http.StatusUnauthorized {
		t.Errorf("with the planted cookie: got status %d", status)
	}
	for _, path := range []string{"/console/", "/console/records"} { // nor does a token open a page without a session
		r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+path, nil))
		r.Header.Set("Authorization", "Bearer "+aliceToken)
		if status, _ := w.browser(t).do(r); status != http.StatusUnauthorized {
			t.Errorf("%s with a token in a header: got status %d", path, status)
		}
	}
}

// Promise 8: an operator that logs in again and again ends sessions of its own, and none of another one.
func TestSessionsOfOperator(t *testing.T) {
	t.Parallel()
	w := open(t)
	alice, robin := w.logIn(t, aliceToken), w.logIn(t, robinToken)
	for range 20 {
		w.logIn(t, robinToken)
	}
	if status, _ := robin.get("/console/"); status != http.StatusUnauthorized {
		t.Errorf("the first of 21 sessions: got status %d", status)
	}
	if status, _ := alice.get("/console/"); status != http.StatusOK {
		t.Errorf("another operator: got status %d", status)
	}
}

// Promise 10: behind a proxy with TLS, a plain connection neither carries the cookie nor sets it.
func TestSecureCookie(t *testing.T) {
	t.Parallel()
	w := open(t)
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/console/login", strings.NewReader(url.Values{"token": {aliceToken}}.Encode())))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", strings.Replace(w.url, "http://", "https://", 1))
	b := w.browser(t)
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer := must.Get(b.Do(r)) //nolint:bodyclose // it is closed below.
	noError(t, answer.Body.Close())
	cookies := answer.Cookies()
	if len(cookies) != 1 || cookies[0].Name != "__Secure-semel_console" || !cookies[0].Secure || cookies[0].Path != "/console/" {
		t.Fatalf("got cookies %v", cookies)
	}
	get := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/console/", nil))
	get.AddCookie(&http.Cookie{Name: "semel_console", Value: "planted by another host"})
	get.AddCookie(cookies[0])
	status, page := b.do(get)
	contains(t, page, "Overview")
	out := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/console/logout", strings.NewReader(url.Values{"form": {hidden(t, page, "form")}}.Encode())))
	out.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	out.AddCookie(cookies[0])
	if b.do(out); status != http.StatusOK {
		t.Errorf("got status %d", status)
	}
	if status, _ := b.do(get); status != http.StatusUnauthorized {
		t.Errorf("after the log-out: got status %d", status)
	}
}

// Promise 8: with 100,000 unknown records, a page has 50, or the 100 that are settled together, and says how many it looked at.
func TestManyUnknown(t *testing.T) {
	t.Parallel()
	w := open(t)
	const records = 100_000
	for i := range records {
		p := semel.ClaimParams{Scope: "shop", Name: strconv.Itoa(i), Lease: time.Minute, Retention: time.Hour}
		p.Digest = semel.Key{Scope: p.Scope, Name: p.Name}.Digest()
		p.Owner[0] = 1
		rec, _, err := w.store.Claim(t.Context(), p)
		noError(t, err)
		noError(t, w.store.Settle(t.Context(), p.Digest, rec.Fence, semel.Settlement{State: semel.StateUnknown, Retention: time.Hour}))
	}
	b := w.logIn(t, aliceToken)
	for path, want := range map[string]int{"/console/unknown": 100, "/console/records?state=unknown": 50, "/console/records?scope=shop": 50} {
		status, page := b.get(path)
		if n := strings.Count(page, `<th scope="row"`); status != http.StatusOK || n != want {
			t.Errorf("%s: got status %d and %d records, want %d", path, status, n, want)
		}
		contains(t, page, "were looked at", "Look at older ones")
	}
	_, page := b.get("/console/")
	contains(t, page, "At least", ">2000</data> requests need you; the oldest of those looked at", `Unknown <span class="count">2000&#43;</span>`)
}

// Records that no page expects are still shown: of a newer version, with a binary or huge answer, with names that deceive.
func TestOddRecords(t *testing.T) {
	t.Parallel()
	w := open(t)
	keep := func(name string, outcome []byte) semel.Digest {
		claim := w.begin(t, "shop\u2066", name)
		noError(t, claim.Complete(outcome, nil))
		return claim.Digest()
	}
	body := func(text []byte) []byte {
		return must.Get((&semelhttp.Response{Status: 200, Header: http.Header{"B": {"2"}, "A": {"1"}, "C": {"\u202E3"}}, Body: text}).MarshalBinary())
	}
	b := w.logIn(t, aliceToken)
	for name, test := range map[string]struct {
		digest semel.Digest
		says   string
	}{
		"newer version": {keep("newer", []byte("semel\xff\xfe and more")), "It was settled"},
		"binary":        {keep("binary", body([]byte{0xff, 0, 1})), "3 bytes, not text"},
		"one byte":      {keep("one byte", body([]byte("x"))), "Status 200, 1 byte."},
		"no byte":       {keep("no byte", body(nil)), "Status 200, 0 bytes."},
		"huge":          {keep("huge", body([]byte(strings.Repeat("€", 20_000)))), "€…"},
		"deceiving":     {keep("invoice\u202Efdp\u200B", body([]byte("x"))), "invoice‹U&#43;202E›fdp‹U&#43;200B›"},
		"headers":       {keep("headers", body([]byte("x"))), `<dt>A</dt><dd><bdi>1</bdi></dd></div><div><dt>B</dt><dd><bdi>2</bdi></dd></div><div><dt>C</dt><dd><bdi>‹U&#43;202E›3</bdi>`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, page := b.get("/console/records/" + test.digest.String())
			if status != http.StatusOK || len(page) > 80<<10 {
				t.Errorf("got status %d and %d bytes", status, len(page))
			}
			contains(t, page, test.says, "!\u202E", "!\u2066", "</html>")
		})
	}
	_, page := b.get("/console/records")
	contains(t, page, "!\u202E", "!\u200B", "invoice‹U&#43;202E›fdp‹U&#43;200B›")
}

// Promise 10: what a browser of another site could do with a page has an answer on every page, for strangers as well.
func TestHeaders(t *testing.T) {
	t.Parallel()
	w := open(t)
	b := w.logIn(t, aliceToken)
	for _, path := range []string{"/console/", "/console/records", "/console/rules", "/console/settings", "/console/nothing", "/console/console.js"} {
		answer, err := b.Get(b.url + path) //nolint:noctx // it is short.
		noError(t, err)
		noError(t, answer.Body.Close())
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'", "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := answer.Header.Get(name); !strings.Contains(got, want) {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
		if answer.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s may be read by other sites", path)
		}
	}
}
