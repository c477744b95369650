package gateway_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/semel-dev/semel/gateway"
)

// TestFormsWithoutARule (F1): a form that no rule takes is named once, with the rule
// that was probably meant; the routes are logged at the start, and those that nothing
// met at the end.
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

// TestUnmatchedFormsAreBounded (promise 8): a page with ever new forms does not fill
// the log, or the memory.
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

// TestPagesThatLackSomethingAreLogged: a page that cannot be rewritten, or that cannot
// have the script, is logged once for its route, with what to do, however many pages
// are like it.
func TestPagesThatLackSomethingAreLogged(t *testing.T) {
	t.Parallel()
	const form = `<form method=post action=/orders></form>`
	pages := map[string]struct{ header, value, page, want string }{
		"/policy":    {"", "", `<meta http-equiv=Content-Security-Policy content="default-src 'none'">` + form, "no guard script\" page=/policy/{…} reason=\"its Content-Security-Policy"},
		"/comment":   {"", "", form + `<!-- `, "no guard script\" page=/comment/{…} reason=\"it has no end of a body"},
		"/plaintext": {"", "", `<form method=post action=/notes></form><plaintext>`, "no guard script\" page=/plaintext/{…}"},
		"/xhtml":     {"Content-Type", "application/xhtml+xml", `<form method="post" action="/wishes" />`, "no guard script\" page=/xhtml/{…}"},
		"/charset":   {"Content-Type", "text/html; charset=utf-16", form, "sending them twice is not safe\" page=/charset/{…} reason=\"its charset"},
		"/coding":    {"Content-Encoding", "gzip", form, "sending them twice is not safe\" page=/coding/{…} reason=\"its Content-Encoding"},
		"/long":      {"", "", form + strings.Repeat("x", 80<<10), "sending them twice is not safe\" page=/long/{…} reason=\"it is longer"},
		"/deep":      {"", "", form + strings.Repeat("<svg>", 600), "sending them twice is not safe\" page=/deep/{…} reason=\"its elements"},
		"/tag":       {"", "", `<form title="` + strings.Repeat("x", 64<<10) + `" method=post action=/orders></form>`, "sending them twice is not safe\" page=/tag/{…} reason=\"its elements are nested"},
		"/wish":      {"Cache-Control", "no-transform", form, ""},
		"/whole":     {"", "", form, ""},
		"/frames":    {"", "", `<frameset><frame src=/a></frameset>`, ""},
	}
	var lines safeBuffer
	d := open(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		page := pages[path.Dir(r.URL.Path)]
		if page.header != "" {
			w.Header().Set(page.header, page.value)
		}
		_, _ = io.WriteString(w, page.page)
	}), func(c *gateway.Config) {
		c.Logger, c.MaxPageBytes = slog.New(slog.NewTextHandler(&lines, nil)), 80<<10
		c.Rules = parse(t, `
version: 1
routes:
  - {name: orders, match: {path: /orders}, form: true}
  - {name: notes, match: {path: /notes}, form: true}
  - {name: wishes, match: {path: /wishes}, form: true}
`)
	})
	for path := range pages {
		for _, page := range []string{"/1", "/1", "/2", "/more"} {
			d.send(t, http.MethodGet, path+page, "", "Accept", "text/html")
		}
	}
	text := lines.String()
	for path, page := range pages {
		if n := strings.Count(text, "page="+path+"/"); page.want == "" && n != 0 || page.want != "" && (n != 1 || !strings.Contains(text, page.want)) {
			t.Errorf("%s: %d lines in the log, want %q:\n%s", path, n, page.want, text)
		}
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
