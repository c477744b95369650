package console_test

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
)

// Promise 3: an operator settles an unknown outcome, later attempts get it, and the trail says by whom.
func TestSettle(t *testing.T) {
	t.Parallel()
	w := open(t)
	digest := w.lose(t, "shop", "order 1", "the connection broke")
	b := w.logIn(t, aliceToken)
	path := "/console/records/" + digest.String()

	_, page := b.get("/console/unknown")
	contains(t, page, `href="`+path+`"`, "order 1")
	_, page = b.get(path)
	contains(t, page, "the connection broke", "It happened: attempts get the answer below")
	status, page := b.post(path, url.Values{
		"form": {hidden(t, page, "form")}, "seen": {hidden(t, page, "seen")},
		"as": {"completed"}, "reason": {"ledger line 77"}, "status": {"201"}, "location": {"/orders/77"}, "body": {`{"id":77}`},
	})
	if status != http.StatusOK {
		t.Fatalf("got %d: %s", status, page)
	}
	contains(t, page, "The verdict was taken.", "!Settle it")
	_, rec, err := w.guard.Begin(t.Context(), semel.Key{Scope: "shop", Name: "order 1"}, semel.FingerprintOf("x"))
	if err != nil || rec == nil || !strings.Contains(string(rec.Outcome), `{"id":77}`) {
		t.Errorf("a later attempt got %v, error %v", rec, err)
	}
	_, page = b.get("/console/audit")
	contains(t, page, "alice", "ledger line 77", "unknown → completed")
}

// A verdict that is refused says why, and keeps what was typed.
func TestRefusedVerdict(t *testing.T) {
	t.Parallel()
	w := open(t)
	b := w.logIn(t, aliceToken)
	good := url.Values{"as": {"completed"}, "reason": {"I saw it"}, "status": {"201"}, "body": {"<b>typed</b>"}, "retention": {"48h"}}
	tests := map[string]struct {
		change url.Values
		status int
		says   string
	}{
		"no reason":       {url.Values{"reason": {" "}}, 422, "say how you know with the reason"},
		"no verdict":      {url.Values{"as": {""}}, 422, "settle it with the verdict"},
		"no status":       {url.Values{"status": {""}}, 422, "needs the status that attempts get"},
		"no duration":     {url.Values{"retention": {"soon"}}, 422, "is a duration, such as 24h"},
		"result no JSON":  {url.Values{"result": {"{"}}, 422, "is not JSON"},
		"body too large":  {url.Values{"body": {"<b>typed</b>" + strings.Repeat("x", semel.DefaultMaxOutcomeBytes)}}, 422, "bytes, at most 1048576 are kept"},
		"body and none":   {url.Values{"no_body": {"yes"}}, 422, "exclude each other"},
		"other session":   {url.Values{"form": {"guess"}}, 403, "this form is from another session"},
		"no attempt":      {url.Values{"seen": {"x"}}, 400, "which attempt it is about"},
		"another attempt": {url.Values{"seen": {"1"}}, 409, "the record changed while you looked at it"},
	}
	w.lose(t, "shop", "first", "") // fences are not 1
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			digest := w.lose(t, "shop", name, "")
			path := "/console/records/" + digest.String()
			_, page := b.get(path)
			form := maps.Clone(good)
			form.Set("form", hidden(t, page, "form"))
			form.Set("seen", hidden(t, page, "seen"))
			maps.Copy(form, test.change)
			status, page := b.post(path, form)
			if status != test.status {
				t.Errorf("got status %d, want %d", status, test.status)
			}
			contains(t, page, test.says, "&lt;b&gt;typed&lt;/b&gt;", `role="alert"`)
			if rec := must.Get(w.store.Lookup(t.Context(), digest)); rec.State != semel.StateUnknown {
				t.Errorf("the record is %v", rec.State)
			}
		})
	}
}

// An attempt that ran between the look and the verdict is not settled by it: the page shows the newer one.
func TestStaleFence(t *testing.T) {
	t.Parallel()
	w := open(t)
	digest := w.lose(t, "shop", "k", "first loss")
	b := w.logIn(t, aliceToken)
	path := "/console/records/" + digest.String()
	_, page := b.get(path)
	form := url.Values{"form": {hidden(t, page, "form")}, "seen": {hidden(t, page, "seen")}, "as": {"released"}, "reason": {"it is not in the ledger"}}
	rerun := must.Get(w.guard.With(semel.Policy{OnUnknown: semel.Rerun}))
	claim, _, err := rerun.Begin(t.Context(), semel.Key{Scope: "shop", Name: "k"}, semel.FingerprintOf("x"))
	noError(t, err)
	noError(t, claim.Unknown("second loss"))

	status, page := b.post(path, form)
	if status != http.StatusConflict {
		t.Errorf("got status %d", status)
	}
	contains(t, page, "the record changed while you looked at it", "second loss", "it is not in the ledger")
	form.Set("seen", hidden(t, page, "seen"))
	if status, _ = b.post(path, form); status != http.StatusOK {
		t.Errorf("the verdict on the newer attempt: got status %d", status)
	}
	if _, err := w.store.Lookup(t.Context(), digest); err == nil {
		t.Error("the record is still there")
	}
}

// A session that ends while a verdict is typed loses nothing, and settles nothing.
func TestSessionEnds(t *testing.T) {
	t.Parallel()
	w := open(t)
	digest := w.lose(t, "shop", "k", "")
	b := w.logIn(t, aliceToken)
	path := "/console/records/" + digest.String()
	_, page := b.get(path)
	form := url.Values{"form": {hidden(t, page, "form")}, "seen": {hidden(t, page, "seen")}, "as": {"released"}, "reason": {"the bank says no"}}
	b.post("/console/logout", url.Values{"form": {hidden(t, page, "form")}})

	status, page := b.post(path, form)
	if status != http.StatusUnauthorized {
		t.Errorf("got status %d", status)
	}
	contains(t, page, "Your session has ended", `type="password"`)
	status, page = b.post("/console/login", url.Values{"token": {aliceToken}, "next": {hidden(t, page, "next")}, "typed": {hidden(t, page, "typed")}})
	if status != http.StatusOK {
		t.Errorf("log in: got status %d", status)
	}
	contains(t, page, "the bank says no", `value="released" checked`, "has not been done yet")
	if rec := must.Get(w.store.Lookup(t.Context(), digest)); rec.State != semel.StateUnknown {
		t.Errorf("the record is %v", rec.State)
	}
}

// Promise 10: a stranger sees nothing, and a token that may only look settles nothing and sees no bodies.
func TestOutsiders(t *testing.T) {
	t.Parallel()
	w := open(t)
	unknown, done := w.lose(t, "shop", "k", ""), w.answer(t, "shop", "done", "secret body")
	stranger := w.browser(t)
	for _, path := range []string{"/console/", "/console/records", "/console/unknown", "/console/audit", "/console/records/" + done.String(), "/console/nothing"} {
		status, page := stranger.get(path)
		if status != http.StatusUnauthorized {
			t.Errorf("%s: got status %d", path, status)
		}
		contains(t, page, "!shop", "!done", "Log in")
	}
	status, page := stranger.post("/console/login", url.Values{"token": {"wrong-0123456789abcdef0123456789abcdef"}})
	if status != http.StatusUnauthorized {
		t.Errorf("a wrong token: got status %d", status)
	}
	contains(t, page, "The token is not known", "!wrong-0123")

	robin := w.logIn(t, robinToken)
	_, page = robin.get("/console/records/" + done.String())
	contains(t, page, "Status 201", "!secret body")
	_, page = robin.get("/console/records/" + unknown.String())
	contains(t, page, "Your token may only look", "!<textarea")
	status, page = robin.post("/console/records/"+unknown.String(), url.Values{"form": {hidden(t, page, "form")}, "seen": {"1"}, "as": {"released"}, "reason": {"x"}})
	if status != http.StatusForbidden {
		t.Errorf("a verdict of a token that may only look: got status %d", status)
	}
	contains(t, page, "may only look")
	if rec := must.Get(w.store.Lookup(t.Context(), unknown)); rec.State != semel.StateUnknown {
		t.Errorf("the record is %v", rec.State)
	}
}

// Promise 10: too many wrong tokens from one address are refused without a look at them, the right one as well.
func TestGuessing(t *testing.T) {
	t.Parallel()
	w := open(t)
	b := w.browser(t)
	for range 10 {
		b.post("/console/login", url.Values{"token": {"wrong-0123456789abcdef0123456789abcdef"}})
	}
	_, page := b.post("/console/login", url.Values{"token": {aliceToken}})
	contains(t, page, "Too many wrong tokens", "!Overview")
}

// Promise 10: another site can neither send a form nor frame a page nor read the cookie, and a session of before the log-in
// is not that of after.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	w := open(t)
	b := w.logIn(t, aliceToken)
	digest := w.lose(t, "shop", "k", "")
	_, page := b.get("/console/records/" + digest.String())
	form := url.Values{"form": {hidden(t, page, "form")}, "seen": {hidden(t, page, "seen")}, "as": {"released"}, "reason": {"x"}}
	for _, path := range []string{"/console/records/" + digest.String(), "/console/login", "/console/logout"} {
		r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+path, strings.NewReader(form.Encode())))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "https://evil.example")
		if status, _ := b.do(r); status != http.StatusForbidden {
			t.Errorf("%s from another site: got status %d", path, status)
		}
	}
	at := must.Get(url.Parse(w.url + "/console/"))
	before := b.Jar.Cookies(at)
	b.post("/console/login", url.Values{"token": {aliceToken}})
	if slices.Equal(values(before), values(b.Jar.Cookies(at))) {
		t.Error("the session of before the log-in is still that of after")
	}
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	var answer *http.Response
	for _, next := range []string{"//evil.example/", "//evil.example/console/", "https:/console/", "javascript:/console/", "https://evil.example/console/", "/console/\r\nSet-Cookie: a=b", "/console", `/\evil.example/console/`} {
		r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/console/login", strings.NewReader(url.Values{"token": {aliceToken}, "next": {next}}.Encode())))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer = must.Get(b.Do(r)) //nolint:bodyclose // it is closed below.
		noError(t, answer.Body.Close())
		if to := answer.Header.Get("Location"); to != "/console/" {
			t.Errorf("after the log-in with %q it goes on with %q", next, to)
		}
	}
	for name, want := range map[string]string{"Content-Security-Policy": "frame-ancestors 'none'", "Set-Cookie": "HttpOnly; SameSite=Strict", "Cache-Control": "no-store", "X-Frame-Options": "DENY"} {
		if got := answer.Header.Get(name); !strings.Contains(got, want) {
			t.Errorf("%s is %q, want %q in it", name, got, want)
		}
	}
}

func values(cookies []*http.Cookie) (all []string) {
	for _, c := range cookies {
		all = append(all, c.Value)
	}
	return all
}

// Keys, scopes, notes, headers and bodies of strangers are text on every page.
func TestHostileText(t *testing.T) {
	t.Parallel()
	w := open(t)
	const evil = `"><script>alert(1)</script>`
	done := w.answer(t, evil, evil, evil)
	unknown := w.lose(t, evil, "u"+evil, evil)
	b := w.logIn(t, aliceToken)
	for _, path := range []string{
		"/console/", "/console/records", "/console/records?scope=" + url.QueryEscape(evil), "/console/unknown", "/console/audit",
		"/console/records/" + done.String(), "/console/records/" + unknown.String(), "/console/records/" + evil, "/console/records?after=" + url.QueryEscape(evil),
	} {
		_, page := b.get(path)
		contains(t, page, "!<script>", "</html>")
	}
}

// The record of a key is found at once, and a long list goes on where a page ended.
func TestFind(t *testing.T) {
	t.Parallel()
	w := open(t)
	digest := w.answer(t, "shop", "order 7", "{}")
	for i := range 60 {
		w.answer(t, "bulk", strconv.Itoa(i), "{}")
	}
	b := w.logIn(t, aliceToken)
	_, page := b.get("/console/records?scope=shop&name=order+7")
	contains(t, page, "Record "+digest.String()[:12], "attempts get the answer 201")
	_, page = b.get("/console/records?scope=shop&name=order+8")
	contains(t, page, "No record has this scope and key")
	_, page = b.get("/console/records?state=completed")
	if n := strings.Count(page, `<th scope="row"`); n != 50 {
		t.Errorf("the page has %d records, want 50", n)
	}
	_, page = b.get(older(page, "/console/records"))
	if n := strings.Count(page, `<th scope="row"`); n != 11 {
		t.Errorf("the second page has %d records, want 11", n)
	}
	contains(t, page, "order 7")
}
