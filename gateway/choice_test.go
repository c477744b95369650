package gateway_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/operator"
)

// choiceRules are routes that refuse a request without a key in a header of their own, which tells which of them it met.
const choiceRules = `version: 1
routes:
  - {name: a, match: {path: /doku.php, query: {do: [save, draft]}}, key: {header: X-Save}, required: true}
  - {name: b, match: {path: /doku.php, query: {do: save}, header: {X-Kind: [big, huge]}}, key: {header: X-Big}, required: true}
  - {name: c, match: {path: /doku.php, query: {do: {present: true}}}, key: {header: X-Do}, required: true}
  - {name: d, match: {path: /doku.php, form: {"do[save]": {present: true}}, query: {do: edit}}, key: {header: X-Form}, required: true}
  - {name: e, match: {path: /only, query: {a: "1"}}, key: {header: X-Only}, required: true}
  - {name: f, match: {path: "/{one}", query: {b: "1"}}, key: {header: X-One}, required: true}
  - {name: g, match: {path: "/{rest...}", query: {c: "1"}}, key: {header: X-Rest}, required: true}
  - {name: h, match: {host: h.test, path: "/{any}", query: {h: "1"}}, key: {header: X-Host}, required: true}
  - {name: i, match: {path: /action, header: {Next-Action: {present: true}}}, key: {header: X-Action}, required: true}
  - {name: j, match: {path: /action, header: {Next-Action: abc}}, key: {header: X-Abc}, required: true}
  - {name: k, match: {path: /form, form: {do: [save, draft]}}, key: {header: X-Field}, required: true, body_limit: 1KiB}
  - {name: l, match: {path: /form}, key: {header: X-Other}, required: true, body_limit: 2KiB}
  - {name: p, match: {path: /lists, query: {x: [a, b]}}, key: {header: X-List}, required: true}
  - {name: q, match: {path: /lists, query: {x: a or b}}, key: {header: X-Text}, required: true}
  - {name: r, match: {path: /under, query: {a_b: "1"}}, key: {header: X-Under}, required: true}
  - {name: t, match: {path: /large, form: {do: save}}, key: {header: X-Large}, required: true}
  - {name: s, match: {path: /upload, form: {file: {present: true}}}, key: {header: X-Upload}, required: true}
  - {name: m, match: {path: /graphql, json: {/operationName: [Create, Delete], /n: [1, true, "1"], /query: {present: true}}}, key: {header: X-Json}, required: true}
  - {name: n, match: {path: /graphql, json: {/query: {present: true}}}, key: {header: X-Query}, required: true}
  - {name: o, match: {path: /graphql, json: {/operationName: Create, /n: 1, /query: {present: true}}}, key: {header: X-Both}, required: true}
`

// met sends a request and returns the key header of the route that it met, or the outcome of the request.
func (d *door) met(t *testing.T, method, path, body string, header ...string) string {
	t.Helper()
	got := d.send(t, method, path, body, header...)
	if _, name, found := strings.Cut(got.body, "reads the key from: header "); found {
		name, _, _ = strings.Cut(name, `"`)
		return name
	}
	if got.problem() != "" {
		return got.problem()
	}
	return got.body
}

// zipped is a text as gzip.
func zipped(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, text)
	must.Succeed(w.Close(), "a buffer takes everything")
	return out.String()
}

// TestChoice: of the routes of a path a request meets the strictest whose conditions every application reads as met, and is refused
// where applications would disagree about that. One that meets none falls to the next pattern.
func TestChoice(t *testing.T) {
	t.Parallel()
	target := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "passed")
	})
	d := openRuled(t, target, choiceRules)
	const (
		form, js, multi  = "Content-Type: application/x-www-form-urlencoded", "Content-Type: application/json", "Content-Type: multipart/form-data; boundary=b"
		refused, passed  = "ambiguous-request", "passed"
		part             = "--b\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n%s\r\n--b--\r\n"
		graphql, ordered = "/graphql", `{"operationName":"Create","n":1,"query":"mutation"}`
	)
	for i, tt := range []struct {
		want, path, body string
		header           []string
	}{
		// A parameter, repeated, in other spellings, in broken ones.
		{"X-Save", "/doku.php?do=save", "", nil},
		{"X-Save", "/doku.php?id=1&do=draft", "", nil},
		{"X-Save", "/doku.php?do=%73ave", "", nil},
		{"X-Save", "/doku.php?%64o=save", "", nil},
		{"X-Save", "/doku.php?do=save&do=draft", "", nil},
		{"X-Do", "/doku.php?do=show", "", nil},
		{"X-List", "/lists?x=b", "", nil},
		{"X-Text", "/lists?x=a+or+b", "", nil},
		{"X-Do", "/doku.php?do=", "", nil},
		{"X-Do", "/doku.php?do", "", nil},
		{"X-Do", "/doku.php?do=Save", "", nil},
		{"X-Do", "/doku.php?do=show&do=list", "", nil},
		{refused, "/doku.php?do=save&do=show", "", nil},
		{refused, "/doku.php?do=show&do=save", "", nil},
		{refused, "/doku.php?Do=save", "", nil},
		{refused, "/doku.php?do[]=save", "", nil},
		{refused, "/doku.php?do[x]=save", "", nil},
		{refused, "/doku.php?%20do=save", "", nil},
		{refused, "/doku.php?do%00x=save", "", nil},
		{refused, "/doku.php?d%u006f=save", "", nil},
		{refused, "/under?a[b=1", "", nil},
		{refused, "/doku.php?x=1;do=save", "", nil},
		{refused, "/doku.php?do=save;x=1", "", nil},
		{refused, "/doku.php?do=save&x=%zz;do=1", "", nil},
		{refused, "/doku.php?do=save&do=%zz", "", nil},
		{"X-Save", "/doku.php?do=save&x=%zz", "", nil},
		{passed, "/doku.php?id=1", "", nil},
		{passed, "/doku.php", "", nil},
		{passed, "/doku.php", "do=save", []string{form}},
		// The path is read in all its ways as well.
		{"X-Save", "//doku.php?do=save", "", nil},
		{"X-Save", "/x/../doku.php?do=save", "", nil},
		{refused, "/Doku.php?do=save", "", nil},
		{refused, "/doku.php/?do=save", "", nil},
		{passed, "/Doku.php?id=1", "", nil},
		{refused, "/doku.php%3Fdo=save", "", nil},
		// A header.
		{"X-Big", "/doku.php?do=save", "", []string{"X-Kind: big"}},
		{"X-Big", "/doku.php?do=save", "", []string{"X-Kind: big", "X-Kind: huge"}},
		{"X-Save", "/doku.php?do=save", "", []string{"X-Kind: Big"}},
		{"X-Save", "/doku.php?do=draft", "", []string{"X-Kind: big"}},
		{refused, "/doku.php?do=save", "", []string{"X-Kind: big", "X-Kind: small"}},
		{refused, "/doku.php?do=save", "", []string{"X-Kind: small, big"}},
		{"X-Save", "/doku.php?do=save", "", []string{"X-Kind: small, tiny"}},
		{"X-Save", "/doku.php?do=save", "", []string{"X_Kind: big"}}, // the application does not get it
		{refused, "/doku.php?do=save", "", []string{"Connection: X-Kind", "X-Kind: big"}},
		{"X-Action", "/action", "", []string{"Next-Action: x"}},
		{"X-Abc", "/action", "", []string{"Next-Action: abc"}},
		{passed, "/action", "", nil},
		// A field of a form.
		{"X-Field", "/form", "do=save", []string{form}},
		{"X-Field", "/form", "a=1&do=draft&do=save", []string{form}},
		{"X-Other", "/form", "do=show", []string{form}},
		{"X-Other", "/form", "", nil},
		{"X-Other", "/form?do=save", "", []string{form}},
		{"X-Other", "/form", `{"do":"save"}`, []string{js}},
		{"X-Other", "/form", "do=save", []string{"Content-Type: text/plain"}},
		{"X-Field", "/form", fmt.Sprintf(part, "do", "save"), []string{multi}},
		{"X-Other", "/form", fmt.Sprintf(part, "do", "show"), []string{multi}},
		{refused, "/form", fmt.Sprintf(part, "DO", "save"), []string{multi}},
		{refused, "/form", fmt.Sprintf(part, "do", "save"), []string{multi + "; boundary=c"}},
		{refused, "/form", fmt.Sprintf(part, "do", "save"), []string{multi, form}},
		{refused, "/form", "--b\r\nbroken", []string{multi}},
		{refused, "/form", "do=save&do=show", []string{form}},
		{refused, "/form", "DO=save", []string{form}},
		{refused, "/form", "do[]=save", []string{form}},
		{refused, "/form", "do=%zz", []string{form}},
		{refused, "/form", "do=save", []string{form + "; charset=utf-16"}},
		{refused, "/form", zipped("do=save"), []string{form, "Content-Encoding: gzip"}},
		{refused, "/form", zipped("do=save"), []string{form, "Content-Encoding: identity", "Content-Encoding: gzip"}},
		{"X-Field", "/form", "do=save", []string{form, "Content-Encoding: identity"}},
		{"X-Other", "/form", "x=" + strings.Repeat("y", 2000), []string{form}},
		{"body-too-large", "/form", "do=show&x=" + strings.Repeat("y", 3000), []string{form}},
		// One that some applications find in another body, or in another way.
		{refused, "/form", "do=save", nil},
		{"X-Other", "/form", `{"do":"save"}`, nil},
		{"X-Field", "/form", "do=save", []string{form + ", " + strings.TrimPrefix(form, "Content-Type: ")}},
		{refused, "/form", "x=1;do=save", []string{form}},
		{refused, "/form", "do=save;x=1", []string{form}},
		{"X-Field", "/form", "do=save&x=1;y=2", []string{form}},
		{refused, "/large", "x=" + strings.Repeat("y", 140_000) + ";do=save", []string{form}},
		{passed, "/large", "x=" + strings.Repeat("y", 140_000), []string{form}},
		{refused, "/form", fmt.Sprintf(part, "do", "save"), []string{multi + "; charset"}},
		{refused, "/form", fmt.Sprintf(part, "%64o", "save"), []string{multi}},
		{refused, "/form", fmt.Sprintf(part, `d\o`, "save"), []string{multi}},
		{refused, "/form", fmt.Sprintf(part, `x"; name*="utf-8''do`, "save"), []string{multi}},
		{refused, "/form", fmt.Sprintf(part, "x\"\r\nContent-Disposition: form-data; name=\"do", "save"), []string{multi}},
		{refused, "/form", strings.Replace(fmt.Sprintf(part, "do", "save"), "form-data", "attachment", 1), []string{multi}},
		{refused, "/form", fmt.Sprintf(part, "do\"\r\nContent-Transfer-Encoding: \"base64", "c2F2ZQ=="), []string{multi}},
		{refused, "/form", fmt.Sprintf(part, `do"; filename="do.txt`, "save"), []string{multi}},
		{"X-Other", "/form", fmt.Sprintf(part, `do"; filename="do.txt`, "show"), []string{multi}},
		{"X-Field", "/form", "--b\r\nContent-Disposition: form-data; filename*=utf-8''%C3%A9; filename=\"e\"; name=file\r\nContent-Type: text/plain\r\n\r\nx\r\n" + fmt.Sprintf(part, "do", "save"), []string{multi}},
		{refused, "/form", fmt.Sprintf(part, "do", "show") + fmt.Sprintf(part, "do", "save"), []string{multi}},
		{refused, "/form", fmt.Sprintf(part, "do", "show\n--b\nContent-Disposition: form-data; name=do\n\nsave"), []string{multi}},
		{"X-Upload", "/upload", fmt.Sprintf(part, `file"; filename="a.txt`, "save"), []string{multi}},
		{"X-Upload", "/upload", fmt.Sprintf(part, `file`, "save"), []string{multi}},
		// Both: the query decides alone where it can.
		{"X-Form", "/doku.php?do=edit", "do[save]=1", []string{form}},
		{"X-Do", "/doku.php?do=edit", "do[preview]=1", []string{form}},
		{"X-Do", "/doku.php?do=edit", "do=1", []string{form}},
		{refused, "/doku.php?do=edit", "do[save][x]=1", []string{form}},
		{"X-Save", "/doku.php?do=save", "do[save]=%zz", []string{form}},
		// A member of JSON.
		{"X-Both", graphql, ordered, []string{js}},
		{"X-Both", graphql, ordered, nil},
		{"X-Both", graphql, `{"n":1.0,"query2":1,"operationName":"\u0043reate","query":""}`, nil},
		{"X-Json", graphql, strings.Replace(ordered, "1", "true", 1), []string{js}},
		{"X-Json", graphql, strings.Replace(ordered, "1", `"1"`, 1), []string{"Content-Type: application/graphql+json; charset=utf-8"}},
		{"X-Query", graphql, strings.Replace(ordered, "1", "[1]", 1), []string{js}},
		{"X-Query", graphql, strings.Replace(ordered, "1", "null", 1), []string{js}},
		{"X-Query", graphql, strings.Replace(ordered, "1", "1e400", 1), []string{js}},
		{"X-Query", graphql, `{"query":"query"}`, []string{js}},
		{passed, graphql, `{"query":null}`, []string{js}},
		{passed, graphql, `[` + ordered + `]`, []string{js}},
		{passed, graphql, "", []string{js}},
		{passed, graphql, fmt.Sprintf(part, "operations", ordered), []string{multi}},
		{passed, graphql, "query=1", []string{form}},
		{refused, graphql, ordered, []string{form}}, // as curl -d sends it
		{refused, graphql, ordered, []string{"Content-Type: text/plain"}},
		{refused, graphql, ordered, []string{js, form}},
		{refused, graphql, strings.Replace(ordered, `"n":1`, `"n":1,"n":2`, 1), []string{js}},
		{refused, graphql, strings.Replace(ordered, `"n":1`, `"n":1,"N":2`, 1), []string{js}},
		{refused, graphql, strings.Replace(ordered, `"n":1`, `"n":1,"n":2`, 1), nil},
		{refused, graphql, strings.Replace(ordered, `"n":1`, `"n":1,"n":2`, 1), []string{form}},
		{refused, graphql, strings.TrimSuffix(ordered, "}"), []string{js}},
		{refused, graphql, "\ufeff" + ordered, nil},
		{refused, graphql, "\ufeff" + ordered, []string{"Content-Type: text/plain"}},
		{refused, graphql, strings.Join(strings.Split(ordered, ""), "\x00") + "\x00", nil},
		{passed, graphql, "\x00\x01", []string{"Content-Type: application/octet-stream"}},
		{refused, graphql, zipped(ordered), []string{js, "Content-Encoding: gzip"}},
		{refused, graphql, ordered, []string{js + "; charset=utf-16"}},
		// The next pattern.
		{"X-Only", "/only?a=1&b=1&c=1", "", nil},
		{"X-One", "/only?b=1&c=1", "", nil},
		{"X-Rest", "/only?c=1", "", nil},
		{"X-Rest", "/only/x?c=1&a=1&b=1", "", nil},
		{passed, "/only", "", nil},
		{"X-Host", "/only?h=1&a=1", "", []string{"Host: h.test"}},
		{"X-Only", "/only?a=1", "", []string{"Host: h.test"}},
		{"X-Rest", "/only?c=1", "", []string{"Host: h.test"}},
		{passed, "/only?h=1", "", nil},
	} {
		t.Run(fmt.Sprint(i, " ", tt.want), func(t *testing.T) {
			t.Parallel()
			var header []string
			for _, line := range tt.header {
				name, value, _ := strings.Cut(line, ": ")
				header = append(header, name, value)
			}
			if got := d.met(t, http.MethodPost, tt.path, tt.body, header...); got != tt.want {
				t.Errorf("%s %q %.40q: got %s, want %s", tt.path, tt.header, tt.body, got, tt.want)
			}
		})
	}
}

// TestChoiceRefusesFragments: some servers end a query at a "#".
func TestChoiceRefusesFragments(t *testing.T) {
	t.Parallel()
	d := openRuled(t, upstream(t, func(http.ResponseWriter, *http.Request) {}), choiceRules)
	for _, target := range []string{"/doku.php?do=save#x", "/doku.php?id=1#&do=save", "/doku.php#?do=save"} {
		check(t, target, d.sendRaw(t, "POST "+target), http.StatusBadRequest, "ambiguous-request")
	}
}

// TestAmbiguousRequestsCount: a refusal counts on the route that the request may be meant for, or on the default route.
func TestAmbiguousRequestsCount(t *testing.T) {
	t.Parallel()
	d := openRuled(t, upstream(t, func(http.ResponseWriter, *http.Request) {}), `version: 1
routes:
  - {name: small, match: {path: /shop, query: {size: small}}}
  - {name: pay, match: {path: /pay}}
`)
	for i, tt := range []struct{ line, header, route string }{
		{"POST /shop?size=small&size=large", "", "small"},
		{"POST /pay;x=1", "", "default"},
		{"POST /pay", "Idempotency_Key: k", "default"},
	} {
		check(t, tt.line, d.sendRaw(t, tt.line, tt.header), http.StatusBadRequest, "ambiguous-request")
		d.until(t, fmt.Sprintf(`semel_requests_total{outcome="ambiguous-request",route=%q} %d`, tt.route, max(i, 1)))
	}
}

// TestChoiceCountsRefusals: a body that is refused while the route is chosen counts as one of the loosest route.
func TestChoiceCountsRefusals(t *testing.T) {
	t.Parallel()
	d := openRuled(t, upstream(t, func(http.ResponseWriter, *http.Request) {}), choiceRules)
	got := d.send(t, http.MethodPost, "/form", "do=show&x="+strings.Repeat("y", 3000), "Content-Type", "application/x-www-form-urlencoded")
	check(t, "a large body", got, http.StatusRequestEntityTooLarge, "body-too-large")
	d.until(t, `semel_requests_total{outcome="body-too-large",route="l"} 1`)
}

// TestChosenOnce (promises 2 and 5): two routes of one path do not share intents, wherever their keys come from.
func TestChosenOnce(t *testing.T) {
	t.Parallel()
	var acted atomic.Int32
	target := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		body := must.Get(io.ReadAll(r.Body))
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, "%d %s", acted.Add(1), body)
	})
	d := openRuled(t, target, `version: 1
routes:
  - {name: create, match: {path: /action, header: {Next-Action: create}}}
  - {name: delete, match: {path: /action, header: {Next-Action: delete}}}
  - name: publish
    match: {path: /wiki, form: {do: publish}}
    key: {derive: {fields: [title], window: 1h}}
  - name: save
    match: {path: /wiki, form: {do: save}}
    key: {derive: {fields: [title], window: 1h}}
  - name: rest
    match: {path: /wiki}
    key: {derive: {fields: [title], window: 1h}}
`)
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	for _, word := range []string{"executed", "replayed"} {
		wantWord(t, "create", d.send(t, http.MethodPost, "/action", "", "Idempotency-Key", "k", "Next-Action", "create"), word)
		for _, do := range []string{"publish", "save", "show"} {
			got := d.send(t, http.MethodPost, "/wiki", "title=a&do="+do, form...)
			wantWord(t, do, got, word)
			if !strings.HasSuffix(got.body, "title=a&do="+do) {
				t.Errorf("%s got the answer %q", do, got.body)
			}
		}
	}
	check(t, "the same key for another action", d.send(t, http.MethodPost, "/action", "", "Idempotency-Key", "k", "Next-Action", "delete"), http.StatusUnprocessableEntity, "key-reused")
	wantActed(t, &acted, 4)
}

// TestChoiceReadsTheBodyOnce: the application gets a body that was read for a condition as it came, short and long, declared and chunked.
func TestChoiceReadsTheBodyOnce(t *testing.T) {
	t.Parallel()
	target := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		n := must.Get(io.Copy(io.Discard, r.Body))
		_, _ = fmt.Fprintf(w, "%d %d", n, r.ContentLength)
	})
	spool := t.TempDir()
	d := open(t, target, func(c *gateway.Config) {
		c.SpoolDir = spool
		c.Rules = parse(t, `version: 1
routes:
  - {name: create, match: {path: /graphql, json: {/operationName: Create}}}
  - {name: rest, match: {path: /graphql}, protect: false}
`)
	})
	for _, size := range []int{100, 100_000, 6_000_000} {
		for _, name := range []string{"Create", "Read"} {
			body := fmt.Sprintf(`{"operationName":%q,"x":%q}`, name, strings.Repeat("x", size))
			got := d.send(t, http.MethodPost, "/graphql", body, "Content-Type", "application/json", "Idempotency-Key", fmt.Sprint("k", size))
			if want := fmt.Sprint(len(body), " ", len(body)); got.body != want {
				t.Errorf("%s: the application got %q, want %q", name, got.body, want)
			}
			if protected := got.word() == "executed"; protected != (name == "Create") {
				t.Errorf("%s of %d bytes: %q", name, size, got.word())
			}
			got = d.sendContext(t.Context(), http.MethodPost, "/graphql", struct{ io.Reader }{strings.NewReader(body)}, "Content-Type", "application/json")
			if want := fmt.Sprint(len(body), " "); !strings.HasPrefix(got.body, want) {
				t.Errorf("%s, chunked: the application got %q, want %q", name, got.body, want)
			}
		}
	}
}

// TestChoiceForms: a form gets a token for the routes that it may meet, with the query that it leads to; the one that it meets takes it.
func TestChoiceForms(t *testing.T) {
	t.Parallel()
	shop := &shop{page: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<form method=post action="/doku.php?do=save"></form><form method=post action="/doku.php?do=show"></form>`+
			`<form method=post action="/doku?do=edit"></form><form method=post action="/graphql"></form>`)
	}}
	d := openRuled(t, upstream(t, shop.ServeHTTP), `version: 1
routes:
  - {name: save, match: {path: /doku.php, query: {do: save}}, form: true}
  - {name: show, match: {path: /doku.php, query: {do: show}}, protect: false}
  - {name: put, match: {path: /doku, query: {do: edit}, form: {"do[put]": {present: true}}}, form: true}
  - {name: drop, match: {path: /doku, query: {do: edit}, form: {"do[drop]": {present: true}, "do[put]": {present: true}}}, form: true}
  - {name: graphql, match: {path: /graphql, json: {/operationName: Create}}}
`)
	page := d.send(t, http.MethodGet, "/", "", "Accept", "text/html", "Cookie", "sessionid=1").body
	forms := strings.Split(page, "</form>")
	for i, want := range []int{1, 0, 1, 0} {
		if got := strings.Count(forms[i], "data-semel-token"); got != want {
			t.Errorf("%s: %d tokens, want %d", forms[i], got, want)
		}
	}
	token := func(form string) string {
		_, rest, _ := strings.Cut(form, `value="`)
		value, _, _ := strings.Cut(rest, `"`)
		return value
	}
	send := func(path, body string) reply {
		return d.send(t, http.MethodPost, path, body, "Content-Type", "application/x-www-form-urlencoded", "Cookie", "sessionid=1")
	}
	for _, word := range []string{"executed", "replayed"} {
		wantWord(t, "save", send("/doku.php?do=save", "_semel="+token(forms[0])+"&a=1"), word)
		wantWord(t, "put", send("/doku?do=edit", "_semel="+token(forms[2])+"&do[put]=1"), word)
		wantWord(t, "drop", send("/doku?do=edit", "_semel="+token(forms[2])+"&do[put]=1&do[drop]=1"), word)
	}
	wantWord(t, "look", send("/doku?do=edit", "_semel="+token(forms[2])+"&do[look]=1"), "")
	for _, got := range shop.posts() {
		if strings.Contains(got.body, "_semel") {
			t.Errorf("the application got %s %s", got.uri, got.body)
		}
	}
}

// TestChoiceIsTold: the published policy and the question for an outcome know the conditions.
func TestChoiceIsTold(t *testing.T) {
	t.Parallel()
	target := upstream(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
	d := openRuled(t, target, `version: 1
routes:
  - {name: reads, match: {path: /graphql, json: {/operationName: Orders}}, protect: false}
  - {name: writes, match: {path: /graphql, json: {/operationName: Create}}, key: {header: X-Key}}
  - {name: save, match: {path: /wiki, query: {do: save}}}
  - {name: show, match: {path: /wiki, query: {do: show}}, protect: false}
`)
	for _, accept := range []string{"application/json", "text/html"} {
		if got := d.send(t, http.MethodGet, "/.well-known/idempotency", "", "Accept", accept); !strings.Contains(got.body, "query do = save") {
			t.Errorf("the policy as %s says nothing of the condition: %s", accept, got.body)
		}
	}
	body := `{"operationName":"Create"}`
	wantWord(t, "create", d.send(t, http.MethodPost, "/graphql", body, "X-Key", "k", "Content-Type", "application/json"), "executed")
	wantWord(t, "save", d.send(t, http.MethodPost, "/wiki?do=save", "", "Idempotency-Key", "k"), "executed")
	for path, header := range map[string]string{"/graphql": "X-Key", "/wiki?do=save": "Idempotency-Key"} {
		got := d.send(t, http.MethodGet, "/.well-known/idempotency/status?path="+url.QueryEscape(path), "", header, "k")
		if !strings.Contains(got.body, `"state":"completed"`) {
			t.Errorf("%s: got %d %s", path, got.status, got.body)
		}
	}
	check(t, "a request that reads", d.send(t, http.MethodGet, "/.well-known/idempotency/status?path="+url.QueryEscape("/wiki?do=show"), "", "Idempotency-Key", "k"), http.StatusNotFound, "not-protected")
}

// TestChoiceInTheBackground: a record of a path with conditions may be any route's, so none asks about it unasked; of other paths, the one route does.
func TestChoiceInTheBackground(t *testing.T) {
	t.Parallel()
	questions := make(chan string)
	target := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			select {
			case questions <- r.URL.Path:
			case <-r.Context().Done():
			}
			w.WriteHeader(http.StatusNotFound)
			return
		}
		panic(http.ErrAbortHandler)
	})
	d := open(t, target, func(c *gateway.Config) {
		c.Background = operator.Unattended{Every: time.Millisecond, MinPause: time.Millisecond}
		c.Rules = parse(t, `version: 1
routes:
  - {name: save, match: {path: /wiki, query: {do: save}}}
  - name: rest
    match: {path: "/{any...}"}
    unknown: {reconcile: {get: "/asked/{any}", happened_when: {status: 200}, absent_after: 1s, background: {}}}
`)
	})
	for _, path := range []string{"/wiki?do=save", "/wiki?do=show", "/orders"} {
		check(t, path, d.send(t, http.MethodPost, path, "", "Idempotency-Key", path), http.StatusBadGateway, "outcome-unknown")
	}
	for range 3 {
		if got := receive(t, questions); got != "/asked/orders" {
			t.Errorf("the application was asked %s", got)
		}
	}
}
