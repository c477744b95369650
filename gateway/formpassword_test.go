package gateway_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

const passwordRules = `version: 1
routes:
  - {name: login, match: {path: /login}, form: true}
  - {name: join, match: {path: /join}, form: {passwords: true}}
  - {name: orders, match: {path: /orders}, form: {script: false}}
`

// TestPasswordForms: a form that asks for a password gets no token, wherever its field is, unless its rule says so. Where the token has
// gone out before the field is seen, a note with the field takes it back.
func TestPasswordForms(t *testing.T) {
	t.Parallel()
	const field = `<input name=p type=PassWord>`
	token := regexp.MustCompile(`name="_semel" value="sm1\.[^"]{20,}"`)
	for name, tt := range map[string]struct {
		page                  string
		tokens, notes, script int
	}{
		"none":            {`<form method=post action=/login><input name=passwords value=password></form>`, 1, 0, 1},
		"one":             {`<form method=post action=/login>` + field + `</form>`, 0, 0, 0},
		"allowed":         {`<form method=post action=/join>` + field + `</form>`, 1, 0, 1},
		"another form":    {`<form method=post action=/login>` + field + `</form><form method=post action=/orders></form>`, 1, 0, 0},
		"after it":        {`<form method=post action=/orders></form>` + field, 1, 0, 0},
		"with script":     {`<form method=post action=/login></form><form method=post action=/login>` + field + field + `</form>`, 1, 0, 1},
		"by id":           {`<form id=a method=post action=/orders></form><input form=a type=password>`, 0, 0, 0},
		"by id, before":   {`<input form=a type=password><form id=a method=post action=/orders></form>`, 0, 0, 0},
		"of another id":   {`<form id=a method=post action=/orders><input form=b type=password></form>`, 1, 0, 0},
		"button":          {`<form action=/x method=post><button formaction=/orders></button>` + field + `</form>`, 0, 0, 0},
		"button, behind":  {`<form action=/x method=post>` + field + `<button formaction=/orders></button></form>`, 0, 0, 0},
		"far behind":      {`<form method=post action=/orders>` + strings.Repeat("<p>text</p>", 30_000) + field + `</form>`, 1, 1, 0},
		"quoted, in a p":  {`<p><form method=post action=/orders><p><input type='password' autofocus></form>`, 0, 0, 0},
		"in references":   {`<form method=post action=/orders><input type="&#112;ass&#x77;ord"></form>`, 0, 0, 0},
		"in a comment":    {`<form method=post action=/orders><!-- ` + field + ` --><textarea>` + field + `</textarea></form>`, 1, 0, 0},
		"in spaces":       {`<form method=post action=/orders><input type=" password "></form>`, 1, 0, 0},
		"in noscript":     {`<form method=post action=/orders><noscript>` + field + `</noscript></form>`, 0, 0, 0},
		"in a template":   {`<form method=post action=/orders><template>` + field + `</template></form>`, 0, 0, 0},
		"shadow":          {`<template shadowrootmode=open><form method=post action=/orders>` + field + `</form></template>`, 0, 0, 0},
		"before it":       {field + `<form method=post action=/orders></form>`, 1, 0, 0},
		"in a script":     {`<form method=post action=/orders><script>"<input type=password>"</script></form>`, 1, 0, 0},
		"one that begins": {`<form method=post action=/orders><input type="passwordx"></form>`, 1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop := &shop{page: func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Etag"], w.Header()["Content-Type"] = []string{`"1"`}, []string{"text/html"}
				_, _ = io.WriteString(w, "<html><head></head><body>"+tt.page+"</body></html>")
			}}
			d := openRuled(t, upstream(t, shop.ServeHTTP), passwordRules)
			got := d.send(t, http.MethodGet, "/", "", "Accept", "text/html", "Cookie", "sessionid=1")
			page := got.body
			tokens, notes, script := len(token.FindAllString(page, -1)), strings.Count(page, `value="sm1.password"`), strings.Count(page, "<script src=")
			if tokens != tt.tokens || notes != tt.notes || script != tt.script {
				t.Errorf("got %d tokens, %d notes, %d scripts, want %d, %d, %d: %.600s", tokens, notes, script, tt.tokens, tt.notes, tt.script, page)
			}
			if asItCame := tokens+script == 0; asItCame != (got.header.Get("Etag") != "") {
				t.Errorf("a page that came as it was: %v, with the header %v", asItCame, got.header)
			}
			if notes == 0 {
				return
			}
			value := strings.TrimSuffix(strings.TrimPrefix(token.FindString(page), `name="_semel" value="`), `"`)
			for range 2 {
				got := d.send(t, http.MethodPost, "/orders", "_semel="+value+"&_semel=sm1.password&p=x", "Content-Type", "application/x-www-form-urlencoded", "Cookie", "sessionid=1")
				wantWord(t, "the token that was taken back", got, "")
			}
			for _, got := range shop.posts() {
				if got.body != "p=x" {
					t.Errorf("the application got %q", got.body)
				}
			}
		})
	}
}
