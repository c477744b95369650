package semelhttp_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel/semelhttp"
)

// TestOtherCharsets (promise 2): where a member or a field is the key or part of it, a body in another charset than UTF-8, which the
// application reads as something else, is refused; JSON in one counts byte by byte.
func TestOtherCharsets(t *testing.T) {
	t.Parallel()
	const js, form = "application/json; charset=", "application/x-www-form-urlencoded; charset="
	for name, tt := range map[string]struct {
		key               semelhttp.KeySource
		contentType, body string
	}{
		"pointer":       {semelhttp.FromJSONPointer("/id"), js, `{"id":"a","z":"+ACI-,+ACI-id+ACI-:+ACI-9"}`},
		"derived":       {semelhttp.Derived(semelhttp.DerivedKey{Fields: []string{"id"}}), js, `{"id":"a"}`},
		"form field":    {semelhttp.FromFormField("id"), form, `id=a`},
		"derived, form": {semelhttp.Derived(semelhttp.DerivedKey{Fields: []string{"id"}}), form, `id=a`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, server, invoices := serveInvoices(t, doorOptions{Options: semelhttp.Options{Key: tt.key}})
			for _, charset := range []string{"utf-7", "UTF-16", "iso-8859-1"} {
				refused := ask(t, server, "", tt.body, "Content-Type", tt.contentType+charset)
				wantProblem(t, refused, http.StatusBadRequest, "key-invalid")
				if !strings.Contains(refused.body, "send it in UTF-8") {
					t.Errorf("the reason does not say what to do: %s", refused.body)
				}
			}
			invoices.wantRan(t, "another charset", 0)
			if got := ask(t, server, "", tt.body, "Content-Type", tt.contentType+"UTF-8"); got.word() != "executed" {
				t.Errorf("UTF-8: got %d %s", got.status, got.body)
			}
		})
	}
	d, server, _ := serveInvoices(t, doorOptions{Options: semelhttp.Options{Fingerprint: semelhttp.FingerprintOptions{CanonicalJSON: true}}})
	ask(t, server, "k1", `{"a":1,"b":2}`, "Content-Type", js+"utf-7")
	ask(t, server, "k1", `{"b":2,"a":1}`, "Content-Type", js+"utf-7")
	ask(t, server, "k2", `{"a":1,"b":2}`, "Content-Type", js+"utf-8")
	ask(t, server, "k2", `{"b":2,"a":1}`, "Content-Type", js+"utf-8")
	wantOutcomes(t, d, "executed", "mismatch", "executed", "replayed")
}

// TestBoundariesDoNotCount: every kind of multipart body is the same with another boundary.
func TestBoundariesDoNotCount(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"form-data", "mixed", `related; start="<a>"`} {
		d, server, _ := serveInvoices(t, doorOptions{})
		for _, boundary := range []string{"aaaa", "bbbb"} {
			_, body := multipartForm(t, boundary, "x", "1")
			ask(t, server, "k1", body, "Content-Type", "multipart/"+kind+"; boundary="+boundary)
		}
		wantOutcomes(t, d, "executed", "replayed")
	}
}

// lookedAt counts how often it is asked whether it has ended.
type lookedAt struct {
	context.Context //nolint:containedctx // it counts who asks it
	times           *atomic.Int64
}

func (c lookedAt) Err() error {
	c.times.Add(1)
	return c.Context.Err()
}

// TestDerivedFieldsAreFoundInOnePass: the context is looked at as often for twelve fields as for one, once for each part of the body.
func TestDerivedFieldsAreFoundInOnePass(t *testing.T) {
	t.Parallel()
	body := `{"f0":1,"z":[` + strings.Repeat("1,", 1<<20) + `1]}`
	looks := func(fields ...string) int64 {
		t.Helper()
		var times atomic.Int64
		source := semelhttp.Derived(semelhttp.DerivedKey{Fields: fields})
		d := newDoor(t, doorOptions{Options: semelhttp.Options{Key: within{source, func(ctx context.Context) context.Context { return lookedAt{ctx, &times} }}}})
		r := newAsk(t, "http://shop.example/invoices", body, "Content-Type", "application/json")
		d.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(&discard{header: http.Header{}}, r)
		return times.Load()
	}
	one, twelve := looks("f0"), looks("f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11")
	if one < 100 || twelve != one {
		t.Errorf("looked %d times for one field, %d for twelve", one, twelve)
	}
}

// within is a source that sees the request with another context.
type within struct {
	semelhttp.KeySource
	with func(context.Context) context.Context
}

func (s within) Key(r *http.Request, body *semelhttp.Body) (string, bool, error) {
	return s.KeySource.Key(r.WithContext(s.with(r.Context())), body)
}

// TestSearchEndsWithTheCaller: no body is searched on after its caller has gone.
func TestSearchEndsWithTheCaller(t *testing.T) {
	t.Parallel()
	gone := func(ctx context.Context) context.Context {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return ctx
	}
	for contentType, body := range map[string]string{"application/json": `{"a":1}`, "application/x-www-form-urlencoded": "a=1"} {
		d := newDoor(t, doorOptions{Options: semelhttp.Options{Key: within{semelhttp.Derived(semelhttp.DerivedKey{Fields: []string{"a"}}), gone}}})
		var invoices counter
		handle(t, d.Handler(http.HandlerFunc(invoices.create)), "/invoices", body, "Content-Type", contentType)
		invoices.wantRan(t, contentType, 0)
		wantOutcomes(t, d, "aborted")
	}
}
