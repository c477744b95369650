package rules_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/rules/template"
	"github.com/semel-dev/semel/rules"
)

// templateOf returns the template that a rule has as its replay.location.
func templateOf(tb testing.TB, text string) rules.Template {
	tb.Helper()
	file, err := rules.Parse("t.yaml", []byte(`
version: 1
routes:
  - name: r
    match: {path: "/{a}/{b}/{rest...}"}
    unknown:
      reconcile: {get: "/x", happened_when: {status: 200}, replay: {location: "`+text+`"}}
`))
	if err != nil {
		tb.Fatal(err)
	}
	return file.Routes[0].Reconcile.Replay.Location
}

// wild are values that would leave a template if they were not escaped.
func wild() []string {
	return []string{
		"a\r\nSet-Cookie: session=1", "\r\n\r\n<script>", "a\nb", "\x00", "//evil.test", "/evil.test", `\\evil.test`, `\evil`, "http://evil.test",
		"javascript:alert(1)", "@evil.test", ":80@evil.test", "..", ".", "../..", "%2e%2e", "%2f%2fevil.test", "a?b=c", "a&b=c", "a#b", "a;b", "é", "e\u0301",
		"\xff\xfe", "\xc0\xaf", " ", "\t", "\u2028", "\uff0f\uff0fevil.test", "{key}", "a+b", "",
	}
}

// wantWithin checks that an expanded template is a path on the same host that
// reads back to the values that were filled in.
func wantWithin(t *testing.T, template rules.Template, text, value string) {
	t.Helper()
	for i := range len(text) {
		if text[i] <= ' ' || text[i] >= 0x7F || text[i] == '\\' {
			t.Fatalf("%s with %q: %q holds the byte %#x", template, value, text, text[i])
		}
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Fragment != "" || !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") {
		t.Fatalf("%s with %q: %q leaves the host (%v)", template, value, text, err)
	}
	base := url.URL{Scheme: "http", Host: "h.test", Path: "/"}
	if there := base.ResolveReference(u); there.Host != "h.test" || there.EscapedPath() != u.EscapedPath() {
		t.Fatalf("%s with %q: %q is read as %s", template, value, text, there)
	}
	want := strings.Count(template.String(), "/") - strings.Count(template.String(), ":/")
	if got := strings.Count(text, "/"); got != want {
		t.Fatalf("%s with %q: %q has %d slashes, want %d", template, value, text, got, want)
	}
}

// TestTemplateInjection: no value splits an answer, names another host, or
// leaves its place in the path or the query.
func TestTemplateInjection(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"/{answer:/id}", "/p/{a}{b}", "/p/.{a}", "/p/{a}.{b}/x", "/p/{rest}?q={key}&r={form:x}", "/{a}/{b}"} {
		path := templateOf(t, text)
		for _, value := range wild() {
			got, err := path.Expand(func(template.Part) (string, error) { return value, nil })
			if err != nil {
				continue
			}
			wantWithin(t, path, got, value)
		}
	}
	for _, text := range []string{"/p/{a}{b}", "/p/.{a}", "/p/{a}/x"} {
		if got, err := templateOf(t, text).Expand(func(p template.Part) (string, error) {
			return map[string]string{"/p/{a}/x": ".."}[text] + strings.Repeat(".", map[string]int{"/p/{a}{b}": 1, "/p/.{a}": 1}[text]), nil
		}); err == nil {
			t.Errorf("%s: got %q, want an error: it leaves the path", text, got)
		}
	}
}

// FuzzTemplate: any value in any template stays where it was put.
func FuzzTemplate(f *testing.F) {
	for _, value := range wild() {
		f.Add("/p/{a}/{b}?q={key}", value, value)
	}
	f.Fuzz(func(t *testing.T, text, one, two string) {
		if strings.ContainsAny(text, "\"\\\n\r") || strings.Contains(text, ":/") {
			return // the file's matter, and the count of slashes'
		}
		file, err := rules.Parse("t.yaml", []byte("version: 1\nroutes:\n  - name: r\n    match: {path: \"/{a}/{b}\"}\n    authorize:\n      get: \""+text+"\"\n"))
		if err != nil {
			return
		}
		path := file.Routes[0].Authorize.Get
		values := map[bool]string{true: one, false: two}
		first := true
		got, err := path.Expand(func(template.Part) (string, error) { first = !first; return values[!first], nil })
		if err == nil && strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7F }) < 0 {
			wantWithin(t, path, got, one+" "+two)
		}
	})
}
