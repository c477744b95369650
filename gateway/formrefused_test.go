package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/gateway"
	"github.com/semel-dev/semel/internal/must"
)

const urlencoded = "application/x-www-form-urlencoded"

// TestFormWithoutSecret: while it is unknown whether a form was carried out
// before, it is not carried out, unless the rule says that it may be (promise 10).
func TestFormWithoutSecret(t *testing.T) {
	t.Parallel()
	store := breakable(t)
	store.Partition()
	s := &shop{}
	d := openShop(t, s, formRules+`  - name: strict
    match: {methods: [POST], path: /strict}
    required: true
    form: true
  - name: derived
    match: {methods: [POST], path: /derived}
    key: {derive: {fields: [a], window: 10s}}
    form: true
  - name: lax
    match: {methods: [POST], path: /lax}
    required: true
    fail_open: true
    form: true
`, func(c *gateway.Config) { c.Store = store })
	token := "sm1." + strings.Repeat("A", 50)
	for _, path := range []string{"/invoices", "/strict", "/derived"} {
		got := d.send(t, http.MethodPost, path, "_semel="+token+"&a=1", "Content-Type", urlencoded, "Accept", "application/json")
		check(t, path, got, http.StatusServiceUnavailable, "store-unavailable")
		if got.header.Get("Retry-After") == "" || !strings.Contains(got.body, `"retryable":true`) {
			t.Errorf("%s: does not say that it can be sent again: %v %s", path, got.header, got.body)
		}
		if path != "/derived" {
			got = d.send(t, http.MethodPost, path, "{}", "Content-Type", "application/json", "Idempotency-Key", token)
			check(t, path+" with the token in the header", got, http.StatusServiceUnavailable, "store-unavailable")
		}
	}
	s.wantPosts(t, 0)
	if got := d.send(t, http.MethodPost, "/invoices", "a=1", "Content-Type", urlencoded); got.status != http.StatusSeeOther {
		t.Errorf("a form without a token: got %d %s", got.status, got.body)
	}
	for name, send := range map[string][]string{"form": {"_semel=" + token + "&a=2", urlencoded, "x"}, "header": {"a=2", "text/x", token}} {
		header := []string{"Content-Type", send[1]}
		if send[2] != "x" {
			header = append(header, "Idempotency-Key", send[2])
		}
		got := d.send(t, http.MethodPost, "/lax", send[0], header...)
		if got.status != http.StatusSeeOther || got.word() != "unprotected" {
			t.Errorf("fail_open, %s: got %d %q %s", name, got.status, got.word(), got.body)
		}
	}
	if got := bodies(s.posts()); strings.Join(got, " ") != "a=1 a=2 a=2" {
		t.Errorf("arrived: %q", got)
	}
	if got := d.metrics(t); !strings.Contains(got, `semel_form_tokens_total{route="lax",verdict="unverifiable"} 2`) {
		t.Errorf("not counted: %s", got)
	}
}

// TestTokenInQuery: a token in the query counts as one in the form, and the application sees neither (promises 1 and 2).
func TestTokenInQuery(t *testing.T) {
	t.Parallel()
	s := &shop{}
	d := openShop(t, s, openRules, nil)
	p, other := d.person(t), d.person(t)
	mine, theirs := p.token("/new"), other.token("/new")
	for _, c := range []struct{ target, contentType, body, want string }{
		{"/invoices?x=1&_semel=" + mine, urlencoded, "a=1", "executed"},
		{"/invoices?%5Fsemel=" + mine + "&x=1", urlencoded, "a=1", "replayed"},
		{"/invoices?x=1", urlencoded, "a=1&_semel=" + mine, "replayed"},
		{"/invoices?x=1&wish=" + theirs + "&_semel=" + mine, urlencoded, "a=1", "replayed"},
		{"/invoices?_semel=" + mine, urlencoded, "a=2&_semel=" + theirs, "executed"},
		{"/invoices?_semel=" + mine, "application/json", "{}", "executed"},
		{"/invoices?_semel=" + mine, "application/json", "{}", "replayed"},
	} {
		wantWord(t, c.target+" "+c.body, p.do(http.MethodPost, c.target, c.contentType, c.body), c.want)
	}
	if got := p.post("/invoices?_semel="+theirs, "a=1", "Accept", "application/json"); got.problem() != "form-stale" {
		t.Errorf("another reader's: got %d %s", got.status, got.body)
	}
	var arrived []string
	for _, got := range s.posts() {
		arrived = append(arrived, got.uri+" "+got.body)
	}
	if diff := cmp.Diff([]string{"/invoices?x=1 a=1", "/invoices a=2", "/invoices {}"}, arrived); diff != "" {
		t.Errorf("arrived (-want +got):\n%s", diff)
	}
}

// TestAmbiguousForm: a form in which the application may find other fields than the
// gateway does is refused on every route, before anything of it is carried out.
func TestAmbiguousForm(t *testing.T) {
	t.Parallel()
	s := &shop{}
	d := openShop(t, s, openRules, nil)
	token := "sm1." + strings.Repeat("A", 50)
	part := func(head string) string {
		return "--b\r\nContent-Disposition: form-data; name=\"_semel\"" + head + "\r\n\r\n" + token + "\r\n--b--\r\n"
	}
	long := part("\r\nX-Pad: " + strings.Repeat("x", 9<<10))
	const multi = "multipart/form-data; boundary=b"
	for name, c := range map[string]struct {
		types []string
		body  string
	}{
		"two types":             {[]string{urlencoded, "application/json"}, "_semel=" + token},
		"two types, other way":  {[]string{"application/json", urlencoded}, "_semel=" + token},
		"the same type twice":   {[]string{urlencoded, urlencoded}, "_semel=" + token},
		"two boundaries":        {[]string{multi + "; boundary=c"}, part("")},
		"a long header":         {[]string{multi}, long},
		"a long header, and on": {[]string{multi}, long + strings.Repeat("x", 100<<10)},
		"far behind":            {[]string{multi}, "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n" + strings.Repeat("x", 200<<10) + "\r\n" + long},
	} {
		for _, path := range []string{"/invoices", "/open", "/anything"} {
			for _, how := range []string{"", "keyed", "chunked", "expect"} {
				header := []string{"Accept", "application/json"}
				for _, contentType := range c.types {
					header = append(header, "Content-Type", contentType)
				}
				body := io.Reader(strings.NewReader(c.body))
				switch how {
				case "keyed":
					header = append(header, "Idempotency-Key", `"`+strings.ReplaceAll(name, " ", "")+`"`)
				case "chunked":
					body = struct{ io.Reader }{body}
				case "expect":
					header = append(header, "Expect", "100-continue")
				}
				got := d.sendContext(t.Context(), http.MethodPost, path, body, header...)
				check(t, name+" "+path+" "+how, got, http.StatusBadRequest, "ambiguous-form")
			}
		}
	}
	for _, got := range s.posts() {
		if strings.Contains(got.body, token) {
			t.Errorf("the application got %.300q", got.body)
		}
	}
}

// TestSecretPause: a store that does not answer is not asked by every page.
func TestSecretPause(t *testing.T) {
	t.Parallel()
	store := breakable(t)
	store.Partition()
	p := openShop(t, &shop{}, "", func(c *gateway.Config) { c.Store = store }).person(t)
	for began := time.Now(); time.Since(began) < patience; {
		p.get("/new")
		asked := store.Calls("claim")
		p.get("/new")
		if asked > 0 && store.Calls("claim") == asked {
			return
		}
	} // the machine may have been slow
	t.Error("every page asks the store")
}

// TestFormInChunks: a form that comes in chunks goes on with its length, once it is known.
func TestFormInChunks(t *testing.T) {
	t.Parallel()
	s := &shop{}
	d := openShop(t, s, "", nil)
	p := d.person(t)
	token := p.token("/new")
	wantOnce(t, "the form", func() reply {
		return d.sendContext(t.Context(), http.MethodPost, "/invoices", struct{ io.Reader }{strings.NewReader("a=1&_semel=" + token)},
			"Content-Type", urlencoded, "Cookie", "semel_visitor="+p.cookie("semel_visitor"))
	})
	if got := s.posts(); len(got) != 1 || got[0].body != "a=1" || got[0].chunked || got[0].length != 3 || got[0].header.Get("Content-Length") != "3" {
		t.Errorf("arrived: %+v", got)
	}
}

// TestSecretThatIsNone: where the store answers, and its record does not hold a secret, not
// even a route that fails open carries a form out.
func TestSecretThatIsNone(t *testing.T) {
	t.Parallel()
	inner := store(t)
	g := must.Get(semel.New(inner, &semel.Options{SweepEvery: -1}))
	t.Cleanup(func() { _ = g.Close() })
	claim, _, err := g.Begin(t.Context(), semel.Key{Scope: "semel:gateway", Name: "form secret"}, semel.FingerprintOf("form secret"))
	if err != nil {
		t.Fatal(err)
	}
	noError(t, claim.Complete([]byte("short"), nil))
	s := &shop{}
	d := openShop(t, s, strings.Replace(formRules, "form: true", "form: true\n    fail_open: true", 1), func(c *gateway.Config) { c.Store = inner })
	got := d.send(t, http.MethodPost, "/invoices", "_semel=sm1."+strings.Repeat("A", 50), "Content-Type", urlencoded, "Accept", "application/json")
	check(t, "form", got, http.StatusServiceUnavailable, "store-unavailable")
	s.wantPosts(t, 0)
}
