package gateway_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/web"
)

// masked is a page with every token as T, and the script element as S.
func masked(page string) string {
	page = regexp.MustCompile(`sm1\.[A-Za-z0-9_-]{50}`).ReplaceAllString(page, "T")
	return regexp.MustCompile(`<script src="/\.well-known/semel/guard\.js\?v=[0-9a-f]{16}"></script>`).ReplaceAllString(page, "S")
}

// showing is an application that shows the page, with further headers.
func showing(contentType, page string, headers ...http.Header) *shop {
	return &shop{page: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		for _, header := range headers {
			maps.Copy(w.Header(), header)
		}
		_, _ = io.WriteString(w, page)
	}}
}

// TestMarkup: which forms and buttons of a page get what.
func TestMarkup(t *testing.T) {
	t.Parallel()
	const (
		field  = `<input type="hidden" name="_semel" value="T" autocomplete="off" data-semel-token>`
		named  = `<input type="hidden" name="_semel" value="T" autocomplete="off" data-semel-token form="f">`
		xfield = `<input type="hidden" name="_semel" value="T" autocomplete="off" data-semel-token="" />`
	)
	for name, c := range map[string]struct{ path, page, want string }{
		"the page itself":              {"/invoices?x=1", `<form method=post>`, `<form method=post>` + field + "S"},
		"an empty action":              {"/invoices", `<base href="/orders"><form method=POST action="">`, `<base href="/orders"><form method=POST action="">` + field + "S"},
		"relative":                     {"/a/b", `<form method=post action="../invoices">`, `<form method=post action="../invoices">` + field + "S"},
		"from the base":                {"/a/b", `<base href="/x/"><form method=post action="../invoices">`, `<base href="/x/"><form method=post action="../invoices">` + field + "S"},
		"this host":                    {"/", `<form method=post action="http://shop.test/invoices">`, `<form method=post action="http://shop.test/invoices">` + field + "S"},
		"this host by TLS":             {"/", `<form method=post action="https://SHOP.test:443/invoices">`, `<form method=post action="https://SHOP.test:443/invoices">` + field + "S"},
		"another port":                 {"/", `<form method=post action="http://shop.test:81/invoices">`, `<form method=post action="http://shop.test:81/invoices">`},
		"another host":                 {"/", `<form method=post action="//evil.test/invoices">`, `<form method=post action="//evil.test/invoices">`},
		"as browsers read it":          {"/", "<form method=post action=' \n/in\nvoices'>", "<form method=post action=' \n/in\nvoices'>" + field + "S"},
		"backslashes":                  {"/", `<form method=post action="\\evil.test/invoices">`, `<form method=post action="\\evil.test/invoices">`},
		"one script for two":           {"/", `<form method=post action=/invoices></form><form method=post action=/invoices>`, `<form method=post action=/invoices>` + field + `</form><form method=post action=/invoices>` + field + "S"},
		"no script wanted":             {"/", `<form method=post action=/orders>`, `<form method=post action=/orders>` + field},
		"button to another":            {"/", `<form method=post action=/invoices><button formaction=/orders>`, `<form method=post action=/invoices>` + field + field + `<button formaction=/orders>S`},
		"button to the same":           {"/", `<form method=post action=/invoices><button formaction=/invoices>`, `<form method=post action=/invoices>` + field + `<button formaction=/invoices>S`},
		"button that posts":            {"/", `<form action=/invoices><input type=submit formmethod=post>`, `<form action=/invoices>` + field + `<input type=submit formmethod=post>S`},
		"button of another":            {"/", `<form id=f method=post action=/x></form><button form=f formaction=/orders>`, `<form id=f method=post action=/x></form>` + named + `<button form=f formaction=/orders>`},
		"button of no such id":         {"/", `<button form='"><b x="' formaction=/orders>`, strings.Replace(named, `"f"`, `"&#34;><b x=&#34;"`, 1) + `<button form='"><b x="' formaction=/orders>`},
		"button that only asks":        {"/", `<form method=get action=/x><button formaction=/orders>`, `<form method=get action=/x><button formaction=/orders>`},
		"with a query":                 {"/", `<form method=post action="/invoices?a=1&amp;b=/../x">`, `<form method=post action="/invoices?a=1&amp;b=/../x">` + field + "S"},
		"with dots":                    {"/", `<form method=post action="/x/../invoices">`, `<form method=post action="/x/../invoices">` + field + "S"},
		"with a fragment":              {"/", `<form method=post action="/invoices#a">`, `<form method=post action="/invoices#a">` + field + "S"},
		"from another origin":          {"/", `<base href="https://evil.test/"><form method=post action=/invoices>`, `<base href="https://evil.test/"><form method=post action=/invoices>`},
		"before and after base":        {"/a/b", `<form method=post action=invoices></form><base href="/"><form method=post action=invoices>`, `<form method=post action=invoices></form><base href="/"><form method=post action=invoices>` + field + "S"},
		"two buttons to another":       {"/", `<form id=f method=post action=/orders></form><button form=f formaction=/invoices></button><button form=f formaction=/invoices>`, `<form id=f method=post action=/orders>` + field + `</form>` + named + `<button form=f formaction=/invoices></button>` + named + `<button form=f formaction=/invoices>S`},
		"in a template":                {"/", `<template><form method=post action=/invoices></form></template><form method=post action=/invoices>`, `<template><form method=post action=/invoices>` + field + `</form></template><form method=post action=/invoices>` + field + "S"},
		"an image button":              {"/", `<form method=post action=/orders><input type=IMAGE name="a&amp;b">`, `<form method=post action=/orders>` + field + `<input type="hidden" name="_semel" value="sm1.image.a&amp;b"><input type=IMAGE name="a&amp;b">`},
		"windows-1251 like UTF-8":      {"/", "<form id=\xD0\xB0&ouml; action=/orders></form><input type=image form=\xD0\xB0&ouml; name=\xC3\xA4 formmethod=post>", "<form id=\xD0\xB0&ouml; action=/orders></form>" + strings.Replace(named, "f\">", "\xD0\xB0&ouml;\">", 1) + "<input type=\"hidden\" name=\"_semel\" value=\"sm1.image.\xC3\xA4\" form=\"\xD0\xB0&ouml;\"><input type=image form=\xD0\xB0&ouml; name=\xC3\xA4 formmethod=post>"},
		"an image to another":          {"/", `<form id=f method=post action=/x></form><input type=image form=f formaction=/orders>`, `<form id=f method=post action=/x></form>` + named + `<input type="hidden" name="_semel" value="sm1.image." form="f"><input type=image form=f formaction=/orders>`},
		"an image elsewhere":           {"/", `<form method=post action=/x><input type=image></form><input type=image>`, `<form method=post action=/x><input type=image></form><input type=image>`},
		"XHTML":                        {"/", `<script src="a" /><![CDATA[a><form method="post" action="/orders">]]><form method="post" action="/orders">`, `<script src="a" /><![CDATA[a><form method="post" action="/orders">]]><form method="post" action="/orders">` + xfield},
		"XHTML closed":                 {"/", `<form id="&amp;" method="post" action="/orders"/><form method="post" action="/orders"/>`, `<form id="&amp;" method="post" action="/orders"/>` + strings.Replace(xfield, " />", ` form="&amp;" />`, 1) + `<form method="post" action="/orders"/>` + xfield},
		"XHTML with script":            {"/", `<body><form method="post" action="/invoices" /></body>`, `<body><form method="post" action="/invoices" />` + xfield + "S</body>"},
		"XHTML without a body":         {"/", `<form method="post" action="/invoices" />`, `<form method="post" action="/invoices" />` + xfield},
		"a document":                   {"/", `<html><head></head><body><main><form method=post action=/invoices></form></main></body></html>`, `<html><head>S</head><body><main><form method=post action=/invoices>` + field + `</form></main></body></html>`},
		"a document without a head":    {"/", `<html><title>a</title><body><form method=post action=/invoices></form></body></html>`, `<html><title>a</title>S<body><form method=post action=/invoices>` + field + `</form></body></html>`},
		"a form before the head's end": {"/", `<html><head><form method=post action=/invoices></form></head><body></body></html>`, `<html><head><form method=post action=/invoices>` + field + `</form></head><body>S</body></html>`},
		"XHTML with a head":            {"/", `<html><head></head><body><form method="post" action="/invoices" /></body></html>`, `<html><head>S</head><body><form method="post" action="/invoices" />` + xfield + "</body></html>"},
		"for readers without scripts":  {"/", `<noscript><form method=post action=/invoices></form></noscript><form method=post action=/invoices>`, `<noscript><form method=post action=/invoices>` + field + `</form></noscript><form method=post action=/invoices>` + field + "S"},
		"button in a template":         {"/", `<template><form method=post action=/orders><button formaction=/invoices></form></template>`, `<template><form method=post action=/orders>` + field + field + `<button formaction=/invoices></form></template>`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			contentType := "text/html"
			if strings.HasPrefix(name, "XHTML") {
				contentType = "application/xhtml+xml; charset=utf-8"
			}
			d := openShop(t, showing(contentType, c.page), "", nil)
			got := d.person(t).get(c.path, "Host", "shop.test")
			if diff := cmp.Diff(c.want, masked(got.body)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestForwardedHost: the host that a trusted proxy was asked for is the page's too.
func TestForwardedHost(t *testing.T) {
	t.Parallel()
	const page = `<form method=post action=https://shop.test/invoices>`
	for _, trusted := range []bool{true, false} {
		d := openShop(t, showing("text/html", page), "", func(c *gateway.Config) {
			if trusted {
				c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
			}
		})
		got := d.person(t).get("/", "X-Forwarded-Host", "shop.test", "X-Forwarded-Proto", "https")
		if n := len(tokensIn(got.body)); (n == 1) != trusted {
			t.Errorf("trusted %v: got %d tokens", trusted, n)
		}
		if cookie := got.header.Get("Set-Cookie"); trusted && !strings.Contains(cookie, "; Secure") {
			t.Errorf("the cookie is not for TLS alone: %s", cookie)
		}
		got = d.person(t).get("/", "Host", "shop.test", "X-Forwarded-Proto", "https")
		if cookie := got.header.Get("Set-Cookie"); cookie == "" || strings.Contains(cookie, "; Secure") != trusted {
			t.Errorf("trusted %v: the cookie is %s", trusted, cookie)
		}
	}
}

// TestTwoButtons: with a token for each of two routes, the one that the button leads to counts, and the application sees neither.
func TestTwoButtons(t *testing.T) {
	t.Parallel()
	s := showing("text/html", `<form method=post action=/invoices><button formaction=/orders>`)
	p := openShop(t, s, "", nil).person(t)
	two := tokensIn(p.get("/").body)
	if len(two) != 2 {
		t.Fatalf("got %d tokens", len(two))
	}
	body := "_semel=" + two[0] + "&a=1&_semel=" + two[1]
	for _, path := range []string{"/invoices", "/orders"} {
		wantOnce(t, path, func() reply { return p.post(path, body) })
	}
	if diff := cmp.Diff([]string{"a=1", "a=1"}, bodies(s.posts())); diff != "" {
		t.Errorf("arrived (-want +got):\n%s", diff)
	}
}

// TestPolicies: the script runs under the page's policies, or is left out.
func TestPolicies(t *testing.T) {
	t.Parallel()
	guard, _ := web.File("guard.js")
	hash := "'sha256-" + digest64(guard.Content) + "'"
	const src = "shop.test/.well-known/semel/guard.js"
	for name, c := range map[string]struct {
		policies []string
		want     []string // nil for as they were
		script   string   // an attribute of it, "-" for no script
	}{
		"none":                {nil, nil, ""},
		"about other things":  {[]string{"img-src 'none'; style-src 'self'"}, nil, ""},
		"self":                {[]string{"script-src 'self'"}, nil, ""},
		"anything":            {[]string{"default-src *"}, nil, ""},
		"nonce":               {[]string{"script-src 'nonce-AbC+/1='"}, nil, `nonce="AbC+/1="`},
		"nonce, default":      {[]string{"default-src 'NONCE-x1'"}, nil, `nonce="x1"`},
		"elements before all": {[]string{"script-src 'none'; script-src-elem 'nonce-x1'"}, nil, `nonce="x1"`},
		"nonce and dynamic":   {[]string{"script-src 'strict-dynamic' 'nonce-x1' https:"}, nil, `nonce="x1"`},
		"nothing":             {[]string{"script-src 'none'; img-src *"}, []string{"script-src " + src + "; img-src *"}, ""},
		"nothing by default":  {[]string{"default-src 'none'; img-src *;"}, []string{"default-src 'none'; img-src *; script-src " + src}, ""},
		"hosts":               {[]string{"img-src *; script-src cdn.test"}, []string{"img-src *; script-src cdn.test " + src}, ""},
		"an empty list":       {[]string{"script-src"}, []string{"script-src " + src}, ""},
		"hashes and dynamic":  {[]string{"script-src 'strict-dynamic' 'sha256-abc='"}, []string{"script-src 'strict-dynamic' 'sha256-abc=' " + hash}, `integrity="` + strings.Trim(hash, "'") + `"`},
		"two in one line":     {[]string{"script-src 'self', default-src 'none'"}, []string{"script-src 'self', default-src 'none'; script-src " + src}, ""},
		"two lines":           {[]string{"script-src 'nonce-x1'", "default-src cdn.test"}, []string{"script-src 'nonce-x1'", "default-src cdn.test; script-src cdn.test " + src}, `nonce="x1"`},
		"two nonces":          {[]string{"script-src 'nonce-x1'", "script-src 'nonce-x2'"}, []string{"script-src 'nonce-x1'", "script-src 'nonce-x2' " + hash}, `nonce="x1"`},
		"the first counts":    {[]string{"script-src 'self'; script-src 'none'"}, nil, ""},
		"no nonce at all":     {[]string{`script-src 'nonce-"><x'`}, []string{`script-src 'nonce-"><x' ` + src}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := showing("text/html", formPage, http.Header{
				"Content-Security-Policy": c.policies, "Content-Security-Policy-Report-Only": {"script-src 'none'"},
			})
			got := openShop(t, s, "", nil).person(t).get("/", "Host", "shop.test")
			want := c.want
			if want == nil {
				want = c.policies
			}
			if diff := cmp.Diff(want, got.header["Content-Security-Policy"]); diff != "" {
				t.Errorf("policies (-want +got):\n%s", diff)
			}
			if got := got.header.Get("Content-Security-Policy-Report-Only"); got != "script-src 'none'" {
				t.Errorf("report only: got %q", got)
			}
			script := regexp.MustCompile(`<script src="/\.well-known[^>]*></script>`).FindString(got.body)
			if !strings.Contains(script, c.script) || script == "" || c.script == "" && strings.Contains(script, "nonce") {
				t.Errorf("the script: got %q, want %q", script, c.script)
			}
		})
	}
}

// TestPolicyWithoutHost: where no policy can name the script, there is none, and the tokens are there.
func TestPolicyWithoutHost(t *testing.T) {
	t.Parallel()
	d := openShop(t, showing("text/html", formPage, http.Header{"Content-Security-Policy": {"script-src 'none'"}}), "", nil)
	got := d.person(t).get("/", "Host", "[::1]:8080")
	if len(tokensIn(got.body)) != 1 || strings.Contains(got.body, "<script") || got.header.Get("Content-Security-Policy") != "script-src 'none'" {
		t.Errorf("got %v %s", got.header, got.body)
	}
	if !strings.Contains(d.metrics(t), `semel_pages_total{result="csp"} 1`) {
		t.Error("it is not counted")
	}
}

// TestPolicyInPage: a policy in a page's head stays as it is. The script gets its nonce,
// or is left out where the policy would block it.
func TestPolicyInPage(t *testing.T) {
	t.Parallel()
	const meta = `<meta http-equiv="Content-Security-Policy" content="%s">`
	for name, c := range map[string]struct {
		header, meta, body string
		script             string // an attribute of it, "-" for no script
	}{
		"self":                          {"", "script-src 'self'", "", "src"},
		"other things":                  {"", "img-src 'none'", "", "src"},
		"a nonce":                       {"", "script-src 'nonce-x1'", "", `nonce="x1"`},
		"a nonce, quoted":               {"", "script-src &#39;nonce-x1&#39; &quot;", "", `nonce="x1"`},
		"the same nonce":                {"script-src 'nonce-x1'", "script-src 'nonce-x1'", "", `nonce="x1"`},
		"a nonce and self":              {"script-src 'self'", "default-src 'nonce-x1' 'strict-dynamic'", "", `nonce="x1"`},
		"another nonce":                 {"script-src 'nonce-x1'", "script-src 'nonce-x2'", "", "-"},
		"nothing":                       {"", "default-src 'none'", "", "-"},
		"hosts":                         {"", "script-src cdn.test", "", "-"},
		"dynamic without a nonce":       {"", "script-src 'self' 'strict-dynamic'", "", "-"},
		"in the body it does not count": {"script-src 'nonce-x1'", "img-src *", "script-src 'nonce-x2'", `nonce="x1"`},
		"in the body, nothing":          {"", "img-src *", "script-src 'none'", "src"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{}
			if c.header != "" {
				h.Set("Content-Security-Policy", c.header)
			}
			page := "<html><head>" + fmt.Sprintf(meta, c.meta) + "</head><body>" + fmt.Sprintf(meta, c.body) + `<form method=post action=/invoices></form></body></html>`
			d := openShop(t, showing("text/html", page, h), "", nil)
			got := d.person(t).get("/", "Host", "shop.test")
			script := regexp.MustCompile(`<script src="/\.well-known[^>]*></script>`).FindString(got.body)
			if c.script == "-" && script != "" || c.script != "-" && !strings.Contains(script, c.script) || len(tokensIn(got.body)) != 1 {
				t.Errorf("the script: got %q, want %q in %s", script, c.script, got.body)
			}
			if got.header.Get("Content-Security-Policy") != c.header {
				t.Errorf("the policy became %q", got.header["Content-Security-Policy"])
			}
			if left := strings.Contains(d.metrics(t), `semel_pages_total{result="csp"} 1`); left != (c.script == "-") {
				t.Errorf("counted as left out: %v", left)
			}
		})
	}
}
