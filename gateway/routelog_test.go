package gateway_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/must"
)

// TestFormsWithoutARule (F1): a form that no rule takes is named once, with the rule that was probably meant; the routes are logged
// at the start, and those that nothing met at the end.
func TestFormsWithoutARule(t *testing.T) {
	t.Parallel()
	var lines safeBuffer
	d := open(t, upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, `<form method=post action=/tickets></form><form method=post action=/time_entries></form><form method=post action=/users/8e03978e/mail?t=s3cr3t></form>
<form method=post action=/login></form><form method=post action="https://elsewhere.test/x"></form><form action=/search></form><form method=post action=/orders></form>`)
	}), func(c *gateway.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&lines, nil))
		c.Rules = parse(t, `
version: 1
routes:
  - {name: tickets, match: {path: /ticketz}, form: true}
  - {name: entries, match: {path: "/projects/{p}/time_entries"}, form: true}
  - {name: login, match: {path: /login}, protect: false}
  - {name: orders, match: {path: /orders}, form: true}
`)
	})
	for range 3 {
		d.send(t, http.MethodGet, "/page/77", "", "Accept", "text/html")
	}
	d.stop()
	noError(t, d.wait(t))
	text := lines.String()
	for want, n := range map[string]int{
		"msg=route ":                 4,
		"a form is taken by no rule": 3,
		"action=/tickets page=/page/{…} nearest=/ticketz":                        1,
		"action=/time_entries page=/page/{…} nearest=/projects/{p}/time_entries": 1,
		"action=/users/{…}/mail page=/page/{…}\n":                                1,
		"no form of a page leads to it\" route=tickets":                          1,
		"no form of a page leads to it\" route=entries":                          1,
		"no form of a page leads to it\" route=login":                            1,
		"route=orders": 1,
		"s3cr3t":       0,
	} {
		if got := strings.Count(text, want); got != n {
			t.Errorf("the log says %d times %q, want %d:\n%s", got, want, n, text)
		}
	}
}

// TestUnmatchedFormsAreBounded (promise 8): a page with ever new forms does not fill the log, or the memory.
func TestUnmatchedFormsAreBounded(t *testing.T) {
	t.Parallel()
	var lines safeBuffer
	d := open(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for i := range 1000 {
			_, _ = fmt.Fprintf(w, "<form method=post action=%s/%s></form>", r.URL.Path, strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprint(i)))
		}
	}), func(c *gateway.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&lines, nil))
		c.Rules = parse(t, "version: 1\nroutes: [{name: orders, match: {path: /orders}, form: true}]\n")
	})
	for _, page := range []string{"a", "b", "c", "d", "e", "f"} {
		d.send(t, http.MethodGet, "/"+page, "", "Accept", "text/html")
	}
	text := lines.String()
	if n, last := strings.Count(text, "a form is taken by no rule"), strings.Count(text, "further forms are not named"); n != 256 || last != 1 {
		t.Errorf("%d forms were named, and the note that no more are appeared %d times; want 256 and 1", n, last)
	}
}

// TestPagesAreProtectedOrLogged: a form that a browser would show has its token, or its page arrives as it is and is logged
// once. Pages without such a form are not logged.
func TestPagesAreProtectedOrLogged(t *testing.T) {
	t.Parallel()
	const form, scripted = `<form method="post" action="/orders"><p/></form>`, `<form method="post" action="/invoices"></form>`
	xhtml := http.Header{"Content-Type": {"application/xhtml+xml"}}
	const utf16 = "<\x00?\x00x\x00m\x00l\x00 \x00?\x00>\x00<\x00f\x00o\x00r\x00m\x00"
	for name, c := range map[string]struct {
		header http.Header // besides Content-Type: text/html
		page   string
		want   string // of the log
		tokens int
	}{
		"a prefix":                 {xhtml, `<h:form xmlns:h="http://www.w3.org/1999/xhtml" method="post" action="/orders"></h:form>`, "a namespace prefix", 0},
		"a prefix that asks":       {xhtml, `<h:form xmlns:h="http://www.w3.org/1999/xhtml" action="/orders"></h:form>`, "", 0},
		"a prefix that leads away": {xhtml, `<h:form xmlns:h="http://www.w3.org/1999/xhtml" method="post" action="//x.test"></h:form>`, "", 0},
		"a prefix of a button":     {xhtml, `<h:form action="/x"><h:button formmethod="post" formaction="/orders"/></h:form>`, "a namespace prefix", 0},
		"a prefix in HTML":         {nil, `<h:form method="post" action="/orders"></h:form>`, "", 0},
		"a form in an entity":      {xhtml, `<!DOCTYPE html [<!ENTITY f '` + form + `'>]><html>&f;</html>`, "an entity", 0},
		"a form in a form":         {xhtml, `<form><p/>` + form + `</form>`, "", 1},
		"UTF-16":                   {http.Header{"Content-Type": {"text/html; charset=utf-16; x"}}, form, "its charset", 0},
		"UTF-16 without a mark":    {nil, utf16, "its charset", 0},
		"an XML declaration":       {nil, `<?xml version="1.0" encoding="ISO-2022-JP"?>` + form, "its charset", 0},
		"the same in XHTML":        {xhtml, `<?xml version="1.0" encoding="ISO-2022-JP"?>` + form, "its charset", 0},
		"no Content-Type":          {http.Header{"Content-Type": nil}, `<!doctype html>` + form, "", 1},
		"no Content-Type, no page": {http.Header{"Content-Type": nil}, `{"a": "` + form + `"}`, "", 0},
		"an unknown coding":        {http.Header{"Content-Encoding": {"dcb"}}, form, "its Content-Encoding", 0},
		"a part":                   {http.Header{"Content-Range": {"bytes 0-9/99"}}, form, "a part of a page", 0},
		"a template":               {nil, `<template>` + form + `</template><template shadowrootmode=open>` + form + `</template>`, "", 2},
		"svg":                      {nil, `<svg><foreignObject>` + form + `</foreignObject></svg>`, "", 1},
		"a frameset":               {nil, `<frameset><noframes>` + form + `</noframes></frameset>`, "", 0},
		"CDATA in HTML":            {nil, `<![CDATA[>` + form + `]]>`, "", 1},
		"a comment":                {nil, `<!-- ` + form, "", 0},
		"a policy":                 {nil, `<meta http-equiv=Content-Security-Policy content="default-src 'none'">` + scripted, "reason=\"its Content-Security-Policy", 1},
		"a comment that is open":   {nil, scripted + `<!-- `, "no guard script\" page=/a/{…} reason=\"it has no end of a body", 1},
		"plaintext":                {nil, scripted + `<plaintext>`, "no guard script", 1},
		"XHTML without a body":     {xhtml, scripted, "no guard script", 1},
		"a long page":              {nil, form + strings.Repeat("x", 80<<10), "not safe\" page=/a/{…} reason=\"it is longer", 1},
		"a deep page":              {nil, form + strings.Repeat("<svg>", 600), "its elements are nested", 1},
		"a long tag":               {nil, `<form title="` + strings.Repeat("x", 64<<10) + `" method=post action=/orders></form>`, "its elements are nested", 0},
		"no-transform":             {http.Header{"Cache-Control": {"no-transform"}}, form, "", 0},
		"a tag that is cut off":    {nil, form[:30], "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lines safeBuffer
			d := openShop(t, &shop{page: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				maps.Copy(w.Header(), c.header)
				_, _ = io.WriteString(w, c.page)
			}}, "", func(c *gateway.Config) { c.Logger, c.MaxPageBytes = slog.New(slog.NewTextHandler(&lines, nil)), 80<<10 })
			for _, path := range []string{"/a/1", "/a/1", "/a/2", "/more"} {
				got := d.send(t, http.MethodGet, path, "", "Accept", "text/html")
				if n := strings.Count(got.body, `value="sm1.`); n != c.tokens || n == 0 && got.body != c.page {
					t.Errorf("got %d tokens, want %d, in %q", n, c.tokens, got.body)
				}
			}
			text := lines.String()
			if n := strings.Count(text, "level=WARN"); (n == 1) != (c.want != "") || n > 1 || !strings.Contains(text, c.want) {
				t.Errorf("%d lines in the log, want %q:\n%s", n, c.want, text)
			}
		})
	}
}

// TestPagesAreLoggedForEachRoute: pages that lack their tokens are logged once for each route that their forms lead to.
func TestPagesAreLoggedForEachRoute(t *testing.T) {
	t.Parallel()
	var lines safeBuffer
	d := openShop(t, &shop{page: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/xhtml+xml")
		_, _ = fmt.Fprintf(w, `<h:form method="post" action=%q/>`, r.URL.Path)
	}}, "", func(c *gateway.Config) { c.Logger = slog.New(slog.NewTextHandler(&lines, nil)) })
	for _, path := range []string{"/orders", "/invoices", "/orders", "/invoices"} {
		d.send(t, http.MethodGet, path, "", "Accept", "text/html")
	}
	if text := lines.String(); strings.Count(text, "level=WARN") != 2 || strings.Count(text, "<h:form>), or with an entity that holds markup\" route=orders\n") != 1 {
		t.Errorf("the log says\n%s", text)
	}
}

// TestOneFieldDiffers: a form that is sent again under its token with another value of one
// field is named in the log with that field, once, and without the value. It counts as new.
func TestOneFieldDiffers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		contentType string
		bodies      []string
		want        string // the field, "" for no line
	}{
		"one field":               {"", []string{"a=1&stamp=s3cr3t1", "a=1&stamp=s3cr3t2", "a=1&stamp=s3cr3t3"}, "stamp"},
		"the same form":           {"", []string{"a=1&stamp=1", "a=1&stamp=1"}, ""},
		"two fields":              {"", []string{"a=1&stamp=1", "a=2&stamp=2"}, ""},
		"one field more":          {"", []string{"a=1", "a=1&stamp=2"}, ""},
		"another field":           {"", []string{"a=1&one=1", "a=1&two=1"}, ""},
		"the second of a name":    {"", []string{"a=1&a=2", "a=1&a=3"}, "a"},
		"a field that is ignored": {"", []string{"a=1&csrf_token=1", "a=1&csrf_token=2"}, ""},
		"many fields":             {"", []string{strings.Repeat("b=1&", 100) + "a=1", strings.Repeat("b=1&", 100) + "a=2"}, ""},
		"a longer value":          {"", []string{"stamp=1", "stamp=" + strings.Repeat("s3cr3t", 1<<10)}, "stamp"},
		"parts": {"multipart/form-data; boundary=X", []string{
			"--X\r\nContent-Disposition: form-data; name=\"stamp\"\r\n\r\n1\r\n--X--\r\n", "--X\r\nContent-Disposition: form-data; name=\"stamp\"\r\n\r\n22\r\n--X--\r\n",
		}, "stamp"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lines safeBuffer
			s := &shop{}
			p := openShop(t, s, "", func(c *gateway.Config) { c.Logger = slog.New(slog.NewTextHandler(&lines, nil)) }).person(t)
			own := p.token("/new")
			sent := map[string]bool{}
			for _, body := range c.bodies {
				sent[body] = true
				if c.contentType == "" {
					p.post("/invoices", body+"&_semel="+own)
				} else {
					p.do(http.MethodPost, "/invoices", c.contentType, "--X\r\nContent-Disposition: form-data; name=\"_semel\"\r\n\r\n"+own+"\r\n"+body)
				}
			}
			text := lines.String()
			if n := strings.Count(text, "another value of one field"); (n == 1) != (c.want != "") || c.want != "" && !strings.Contains(text, "route=invoices field="+c.want+"\n") || n > 1 {
				t.Errorf("got %d lines, want one about %q:\n%s", n, c.want, text)
			}
			if strings.Contains(text, "s3cr3t") {
				t.Errorf("the log has a value:\n%s", text)
			}
			if name != "a field that is ignored" {
				s.wantPosts(t, len(sent))
			}
		})
	}
}

// TestBusyAdvice: a busy gateway logs its advice once, and an idle one does not.
func TestBusyAdvice(t *testing.T) {
	t.Parallel()
	var lines safeBuffer
	g := must.Get(gateway.New(&gateway.Config{
		Upstream: upstream(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }), Store: store(t),
		Logger: slog.New(slog.NewTextHandler(&lines, nil)), BusyAdvice: "keep a log",
	}))
	g.BusyFrom(0, time.Millisecond)
	front := listen(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Serve(ctx, front, nil) }()
	d := &door{url: "http://" + front.Addr().String(), client: newClient(t)}
	check(t, "without a key", d.send(t, http.MethodPost, "/", ""), 201, "")
	if text := lines.String(); strings.Contains(text, "is busy") {
		t.Error("it is busy before the first request with a key: " + text)
	}
	for i := 0; !strings.Contains(lines.String(), "is busy"); i++ {
		check(t, "with a key", d.send(t, http.MethodPost, "/", "", "Idempotency-Key", fmt.Sprint(i)), 201, "")
	}
	check(t, "with a key", d.send(t, http.MethodPost, "/", "", "Idempotency-Key", "last"), 201, "")
	stop()
	noError(t, <-done)
	if n := strings.Count(lines.String(), `advice="keep a log"`); n != 1 {
		t.Errorf("the advice was logged %d times", n)
	}
}
