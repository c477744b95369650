package semelhttp_test

import (
	"bytes"
	"fmt"
	mimemultipart "mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
)

// TestHeaderKeys: the fifth row: what is a key, and which are the same.
func TestHeaderKeys(t *testing.T) {
	t.Parallel()
	same := [][]string{
		{"abc", `"abc"`, ` "abc" `, `"abc";x=1`, `"abc"; x="y,z"`},
		{`"a\"b"`, `"a\"b";q`},
		{strings.Repeat("k", semel.MaxKeyBytes), `"` + strings.Repeat("k", semel.MaxKeyBytes) + `"`},
		{"8e03978e-40d5-43dd-bc93-6894a57f9324"},
		{"a b", `"a b"`},
	}
	for _, spellings := range same {
		t.Run(spellings[0], func(t *testing.T) {
			t.Parallel()
			_, server, invoices := serveInvoices(t, doorOptions{})
			first := ask(t, server, spellings[0], "x")
			if first.word() != "executed" {
				t.Fatalf("got %d %s, want executed", first.status, first.body)
			}
			for _, spelling := range spellings {
				wantReplay(t, first, ask(t, server, spelling, "x"))
			}
			invoices.wantRan(t, "promise 1", 1)
		})
	}
}

// TestInvalidHeaderKeys: nothing runs, nothing is claimed, and the caller learns
// why, without the key.
func TestInvalidHeaderKeys(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]string{
		"empty":             {""},
		"blank":             {"  "},
		"empty string":      {`""`},
		"too long":          {strings.Repeat("k", semel.MaxKeyBytes+1)},
		"much too long":     {strings.Repeat("k", 60_000)},
		"quoted, too long":  {`"` + strings.Repeat("k", semel.MaxKeyBytes+1) + `"`},
		"unclosed":          {`"secret-abc`},
		"two in one":        {`"secret-a", "b"`},
		"two raw in one":    {`secret-a, b`},
		"two lines":         {"secret-a", "secret-b"},
		"the same twice":    {"secret-a", "secret-a"},
		"tab inside":        {"secret\ta"},
		"not ASCII":         {"secret-é"},
		"not UTF-8":         {"secret-\xff"},
		"bad escape":        {`"secret\a"`},
		"text behind":       {`"secret-a"b`},
		"many header lines": strings.Split(strings.Repeat("secret-a,", 200), ","),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, server, invoices := serveInvoices(t, doorOptions{})
			r := newAsk(t, server.URL+"/invoices", "x")
			r.Header["Idempotency-Key"] = keys
			got := sendAsk(t, server, r)
			wantProblem(t, got, http.StatusBadRequest, "key-invalid")
			if strings.Contains(got.body, "secret") || !strings.Contains(got.body, `"reason":"`) {
				t.Errorf("got %s, want the reason without the key", got.body)
			}
			invoices.wantRan(t, "invalid key", 0)
			wantOutcomes(t, d, "key-invalid")
		})
	}
}

// TestControlCharacters: net/http refuses most of them; behind another server
// they are refused here.
func TestControlCharacters(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		if c == ' ' || c == '\t' || c > ' ' && c < 0x7F && c != '"' && c != ',' {
			continue
		}
		var invoices counter
		d := newDoor(t, doorOptions{})
		w := &discard{header: http.Header{}}
		r := newAsk(t, "http://a/invoices", "x")
		r.Header["Idempotency-Key"] = []string{"a" + string([]byte{byte(c)}) + "b"}
		d.Handler(http.HandlerFunc(invoices.create)).ServeHTTP(w, r)
		invoices.wantRan(t, fmt.Sprintf("byte %#x", c), 0)
	}
}

// multipartForm encodes the fields: name, value, name, value and so on.
func multipartForm(tb testing.TB, boundary string, fields ...string) (contentType, body string) {
	tb.Helper()
	var b bytes.Buffer
	w := mimemultipart.NewWriter(&b)
	noError(tb, w.SetBoundary(boundary))
	for i := 0; i < len(fields); i += 2 {
		noError(tb, w.WriteField(fields[i], fields[i+1]))
	}
	noError(tb, w.Close())
	return w.FormDataContentType(), b.String()
}

// TestBodyKeys: where else a key may come from.
func TestBodyKeys(t *testing.T) {
	t.Parallel()
	const form = "application/x-www-form-urlencoded"
	multi, multiBody := multipartForm(t, "b0undary", "a", "1", "token", "k1")
	_, multiTwice := multipartForm(t, "b0undary", "token", "k1", "token", "k1")
	for _, test := range []struct {
		name        string
		source      semelhttp.KeySource
		contentType string
		body        string
		want        string // of the decision; "" for no key
	}{
		{"pointer", semelhttp.FromJSONPointer("/id"), "application/json", `{"a":[{}],"id":"k1","b":null}`, "executed"},
		{"pointer to a number", semelhttp.FromJSONPointer("/id"), "application/json", `{"id":17}`, "executed"},
		{"deep pointer", semelhttp.FromJSONPointer("/a/1/b~1c"), "application/vnd.a+json", `{"a":[0,{"b/c":"k1"}]}`, "executed"},
		{"no content type", semelhttp.FromJSONPointer("/id"), "", `{"id":"k1"}`, "executed"},
		{"pointer to nothing", semelhttp.FromJSONPointer("/id"), "application/json", `{"a":1}`, ""},
		{"pointer to null", semelhttp.FromJSONPointer("/id"), "application/json", `{"id":null}`, ""},
		{"no body", semelhttp.FromJSONPointer("/id"), "application/json", ``, ""},
		{"not JSON", semelhttp.FromJSONPointer("/id"), form, `id=k1`, ""},
		{"pointer to an object", semelhttp.FromJSONPointer("/id"), "application/json", `{"id":{}}`, "key-invalid"},
		{"pointer to true", semelhttp.FromJSONPointer("/id"), "application/json", `{"id":true}`, "key-invalid"},
		{"member twice", semelhttp.FromJSONPointer("/id"), "application/json", `{"id":"a","id":"b"}`, "key-invalid"},
		{"path twice", semelhttp.FromJSONPointer("/a/id"), "application/json", `{"a":{"id":"a"},"a":{"id":"b"}}`, "key-invalid"},
		{"broken JSON", semelhttp.FromJSONPointer("/id"), "application/json", `{"id":"a"`, "key-invalid"},
		{"empty string", semelhttp.FromJSONPointer("/id"), "application/json", `{"id":""}`, "key-invalid"},
		{"control character", semelhttp.FromJSONPointer("/id"), "application/json", `{"id":"a\u0000"}`, "key-invalid"},
		{"not UTF-8", semelhttp.FromJSONPointer("/id"), "application/json", "{\"id\":\"a\xff\"}", "key-invalid"},
		{"too long", semelhttp.FromJSONPointer("/id"), "application/json", `{"id":"` + strings.Repeat("k", 256) + `"}`, "key-invalid"},
		{"too deep", semelhttp.FromJSONPointer("/id"), "application/json", strings.Repeat("[", 100_000), "key-invalid"},
		{"field", semelhttp.FromFormField("token"), form, "a=1&token=k%31&b", "executed"},
		{"multipart field", semelhttp.FromFormField("token"), multi, multiBody, "executed"},
		{"no field", semelhttp.FromFormField("token"), form, "a=1", ""},
		{"no form", semelhttp.FromFormField("token"), "application/json", "token=k1", ""},
		{"field twice", semelhttp.FromFormField("token"), form, "token=a&token=b", "key-invalid"},
		{"multipart field twice", semelhttp.FromFormField("token"), multi, multiTwice, "key-invalid"},
		{"broken multipart", semelhttp.FromFormField("token"), multi, multiBody[:20], "key-invalid"},
		{"badly encoded", semelhttp.FromFormField("token"), form, "token=%zz", "key-invalid"},
		{"empty field", semelhttp.FromFormField("token"), form, "token=", "key-invalid"},
		{"long field", semelhttp.FromFormField("token"), form, "a=" + strings.Repeat("x", 100_000) + "&token=k1", "executed"},
		{"long name", semelhttp.FromFormField("token"), form, strings.Repeat("x", 100_000) + "=1&token=k1", "key-invalid"},
		{"long key", semelhttp.FromFormField("token"), form, "token=" + strings.Repeat("x", 100_000), "key-invalid"},
		{"derived", semelhttp.Derived(semelhttp.DerivedKey{}), form, "a=1", "executed"},
		{"derived of fields", semelhttp.Derived(semelhttp.DerivedKey{Fields: []string{"a", "b"}}), form, "a=1", "executed"},
		{"derived of nothing", semelhttp.Derived(semelhttp.DerivedKey{Fields: []string{"b"}}), form, "a=1", ""},
		{"derived of members", semelhttp.Derived(semelhttp.DerivedKey{Fields: []string{"a", "/b/c"}}), "application/json", `{"b":{"c":[1]}}`, "executed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var invoices counter
			d := newDoor(t, doorOptions{Options: semelhttp.Options{Key: test.source}})
			server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
				var got bytes.Buffer
				if _, err := got.ReadFrom(r.Body); err != nil || got.String() != test.body {
					t.Errorf("the handler read %q, %v", got.String(), err)
				}
				invoices.create(w, r)
			})
			got := ask(t, server, "", test.body, "Content-Type", test.contentType)
			switch test.want {
			case "":
				if got.status != http.StatusCreated || got.word() != "" {
					t.Errorf("got %d %q, want it to pass without a key", got.status, got.word())
				}
				wantOutcomes(t, d)
			case "executed":
				if got.word() != "executed" {
					t.Errorf("got %d %s, want executed", got.status, got.body)
				}
				wantReplay(t, got, ask(t, server, "", test.body, "Content-Type", test.contentType))
			default:
				wantProblem(t, got, http.StatusBadRequest, test.want)
				invoices.wantRan(t, "invalid key", 0)
			}
		})
	}
}

// TestCompressedForms: the key in one cannot be read, so it does not pass as a
// request without.
func TestCompressedForms(t *testing.T) {
	t.Parallel()
	const form = "application/x-www-form-urlencoded"
	for name, source := range map[string]semelhttp.KeySource{
		"field": semelhttp.FromFormField("token"), "derived": semelhttp.Derived(semelhttp.DerivedKey{Fields: []string{"token"}}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var invoices counter
			server := newDoor(t, doorOptions{Options: semelhttp.Options{Key: source}}).serve(t, invoices.create)
			refused := ask(t, server, "", "\x1f\x8b\x08", "Content-Type", form, "Content-Encoding", "gzip")
			wantProblem(t, refused, http.StatusBadRequest, "key-invalid")
			invoices.wantRan(t, "a compressed form", 0)
			if got := ask(t, server, "", "token=k1", "Content-Type", form, "Content-Encoding", "Identity"); got.word() != "executed" {
				t.Errorf("not encoded: got %d %s", got.status, got.body)
			}
		})
	}
}

// TestWebhookID: the key of Standard Webhooks, unparsed.
func TestWebhookID(t *testing.T) {
	t.Parallel()
	_, server, _ := serveInvoices(t, doorOptions{Options: semelhttp.Options{Key: semelhttp.FromWebhookID(), Required: true}})
	first := ask(t, server, "", "x", "webhook-id", "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W")
	wantReplay(t, first, ask(t, server, "", "x", "Webhook-Id", "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W"))
	wantProblem(t, ask(t, server, "", "x"), http.StatusBadRequest, "key-missing")
	wantProblem(t, ask(t, server, "", "x", "Webhook-Id", "a", "Webhook-Id", "b"), http.StatusBadRequest, "key-invalid")
}

// TestDerivedKeys: what counts makes another intent, what does not, does not.
func TestDerivedKeys(t *testing.T) {
	t.Parallel()
	const form = "application/x-www-form-urlencoded"
	source := semelhttp.Derived(semelhttp.DerivedKey{
		Fields: []string{"customer", "amount"}, Cookies: []string{"session"}, Headers: []string{"x-tenant"},
	})
	base := []string{"Content-Type", form, "Cookie", "session=1; other=2", "X-Tenant", "a"}
	key := func(body string, header ...string) string {
		t.Helper()
		var got string
		d := newDoor(t, doorOptions{Options: semelhttp.Options{Key: keyTap{source, &got}}})
		ask(t, d.serve(t, func(http.ResponseWriter, *http.Request) {}), "", body, header...)
		return got
	}
	want := key("customer=c&amount=1", base...)
	if !strings.HasPrefix(want, "derived:") {
		t.Fatalf("got the key %q", want)
	}
	for name, got := range map[string]string{
		"order of fields": key("amount=1&customer=c", base...),
		"other field":     key("customer=c&amount=1&note=hi", base...),
		"other cookie":    key("customer=c&amount=1", "Content-Type", form, "Cookie", "other=3; session=1", "X-Tenant", "a"),
	} {
		if got != want {
			t.Errorf("%s: got another key", name)
		}
	}
	for name, got := range map[string]string{
		"amount":          key("customer=c&amount=2", base...),
		"amount missing":  key("customer=c", base...),
		"amount empty":    key("customer=c&amount=", base...),
		"amount twice":    key("customer=c&amount=1&amount=1", base...),
		"swapped":         key("customer=1&amount=c", base...),
		"session":         key("customer=c&amount=1", "Content-Type", form, "Cookie", "session=2", "X-Tenant", "a"),
		"no session":      key("customer=c&amount=1", "Content-Type", form, "X-Tenant", "a"),
		"tenant":          key("customer=c&amount=1", "Content-Type", form, "Cookie", "session=1", "X-Tenant", "b"),
		"tenant's second": key("customer=c&amount=1", append(base, "X-Tenant", "b")...),
	} {
		if got == want || got == "" {
			t.Errorf("%s: got the same key, or none", name)
		}
	}
	if a, b := key("customer=c", "Content-Type", form, "Cookie", `session={"user":1}`),
		key("customer=c", "Content-Type", form, "Cookie", `session={"user":2}`); a == b || a == "" {
		t.Errorf("two cookies that net/http drops: got %q and %q", a, b)
	}
	if a, b := key(`{"customer":"c","amount":{"x":1,"y":2}}`, "Content-Type", "application/json"),
		key(`{ "amount": {"y":2, "x":1}, "customer":"c" }`, "Content-Type", "application/json"); a != b || a == "" {
		t.Errorf("JSON that means the same: got %q and %q", a, b)
	}
}

// keyTap notes what a source found.
type keyTap struct {
	semelhttp.KeySource
	got *string
}

func (k keyTap) Key(r *http.Request, body *semelhttp.Body) (string, bool, error) {
	name, found, err := k.KeySource.Key(r, body)
	*k.got = name
	return name, found, err
}

// TestDerivedYieldsToAKey: a key in the request outranks its content: two keys are two intents (promise 2).
func TestDerivedYieldsToAKey(t *testing.T) {
	t.Parallel()
	_, server, invoices := serveInvoices(t, doorOptions{Options: semelhttp.Options{Key: semelhttp.Derived(semelhttp.DerivedKey{})}})
	for _, key := range []string{"k1", "k2", ""} {
		first := ask(t, server, key, "x")
		if first.word() != "executed" {
			t.Errorf("key %q: got %d %q, want executed", key, first.status, first.word())
		}
		wantReplay(t, first, ask(t, server, key, "x"))
	}
	wantProblem(t, ask(t, server, "", "x", "Idempotency-Key", "a", "Idempotency-Key", "b"), http.StatusBadRequest, "key-invalid")
	invoices.wantRan(t, "promise 2", 3)
}

// TestBrowsersOwnKey: a header that a browser adds breaks no form where keys come in another header, and makes no second
// intent of a form that is recognised by its content. A key of a program in the wrong header is still refused.
func TestBrowsersOwnKey(t *testing.T) {
	t.Parallel()
	own := func(key string) []string {
		return []string{"Idempotency-Key", key, "Sec-Fetch-Mode", "navigate"}
	}
	t.Run("another header", func(t *testing.T) {
		t.Parallel()
		_, server, invoices := serveInvoices(t, doorOptions{Options: semelhttp.Options{Key: semelhttp.FromHeader("X-Request-Id")}})
		if got := ask(t, server, "", "x", own(`"10907034174502853237"`)...); got.status != http.StatusCreated {
			t.Errorf("got %d %s", got.status, got.body)
		}
		first := ask(t, server, "", "x", append(own(`"1"`), "X-Request-Id", "a")...)
		wantReplay(t, first, ask(t, server, "", "x", append(own(`"2"`), "X-Request-Id", "a")...))
		wantProblem(t, ask(t, server, "", "x", own(`"order-17"`)...), http.StatusBadRequest, "key-invalid")
		wantProblem(t, ask(t, server, `"10907034174502853237"`, "x"), http.StatusBadRequest, "key-invalid")
		invoices.wantRan(t, "promise 1", 2)
	})
	t.Run("derived", func(t *testing.T) {
		t.Parallel()
		_, server, invoices := serveInvoices(t, doorOptions{Options: semelhttp.Options{Key: semelhttp.Derived(semelhttp.DerivedKey{})}})
		first := ask(t, server, "", "x", own(`"10907034174502853237"`)...)
		wantReplay(t, first, ask(t, server, "", "x", own(`"11928949335802111766"`)...))
		invoices.wantRan(t, "promise 1", 1)
	})
}
