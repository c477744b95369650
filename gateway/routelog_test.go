package gateway_test

import (
	"fmt"
	"log/slog"
	"net/http"
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
