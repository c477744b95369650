package semelhttp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/semelhttp"
	"github.com/semel-dev/semel/store/memstore"
)

// TestFingerprint: which requests are the same.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	multiA, bodyA := multipartForm(t, "aaaa", "x", "1", "y", strings.Repeat("2", 1000))
	multiB, bodyB := multipartForm(t, "bbbbbb", "x", "1", "y", strings.Repeat("2", 1000))
	_, bodyC := multipartForm(t, "bbbbbb", "x", "1", "y", strings.Repeat("3", 1000))
	long := strings.Repeat("z", 10_000)
	for _, test := range []struct {
		name         string
		canonical    bool
		typeA, bodyA string
		typeB, bodyB string
		same         bool
	}{
		{"equal", false, "text/plain", "a", "text/plain", "a", true},
		{"long and equal", false, "text/plain", long, "text/plain", long, true},
		{"long and other", false, "text/plain", long, "text/plain", long + "z", false},
		{"charset", false, "text/plain; charset=utf-8", "a", "text/plain; charset=latin1", "a", false},
		{"boundary", false, multiA, bodyA, multiB, bodyB, true},
		{"boundary and part", false, multiA, bodyA, multiB, bodyC, false},
		{"JSON, raw", false, "application/json", `{"a":1,"b":2}`, "application/json", `{"b":2,"a":1}`, false},
		{"JSON, canonical", true, "application/json", `{"a":1,"b":2}`, "application/json", "{ \"b\":2,\n\"a\":1 }", true},
		{"JSON, canonical, other", true, "application/json", `{"a":1,"b":2}`, "application/json", `{"b":1,"a":2}`, false},
		{"canonical, but no JSON", true, "application/json", `{"a":1`, "application/json", `{ "a":1`, false},
		{"canonical, but text", true, "text/plain", `{"a":1}`, "text/plain", `{ "a":1}`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d, server, _ := serveInvoices(t, doorOptions{Options: semelhttp.Options{
				SpoolBytes: 5000, SpoolDir: t.TempDir(), Fingerprint: semelhttp.FingerprintOptions{CanonicalJSON: test.canonical},
			}})
			ask(t, server, "k1", test.bodyA, "Content-Type", test.typeA)
			ask(t, server, "k1", test.bodyB, "Content-Type", test.typeB)
			want := []outcomelog.Outcome{"executed", "mismatch"}
			if test.same {
				want[1] = "replayed"
			}
			if diff := cmp.Diff(want, d.outcomes()); diff != "" {
				t.Errorf("promise 6 (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSteeringHeadersMakeAnotherRequest (promise 6): headers that say what is asked for count, where the key
// comes from a header and where it is derived.
func TestSteeringHeadersMakeAnotherRequest(t *testing.T) {
	t.Parallel()
	derived := semelhttp.Derived(semelhttp.DerivedKey{})
	for _, name := range []string{
		"If-Match", "If-None-Match", "If-Unmodified-Since", "Content-Range", "Upload-Offset", "Destination", "Overwrite", "Slug",
		"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Original-URL", "X-Rewrite-URL",
		"If_Match", "X_HTTP_Method_Override", "X-HTTP_METHOD-override", // as WSGI, Rack and PHP read them
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for source, want := range map[semelhttp.KeySource]string{nil: "mismatch", derived: "executed"} {
				d, server, _ := serveInvoices(t, doorOptions{Options: semelhttp.Options{Key: source}})
				send := func(key, body string, header ...string) {
					if source != nil {
						key = ""
					}
					ask(t, server, key, body, header...)
				}
				send("k1", "x")
				send("k1", "x", name, "a")
				send("k2", "y", name, "a")
				send("k2", "y", name, "a")
				send("k2", "y", name, "b")
				wantOutcomes(t, d, "executed", outcomelog.Outcome(want), "executed", "replayed", outcomelog.Outcome(want))
			}
		})
	}
}

// TestChosenHeaderWithUnderscores (promise 6): a header that a service chose counts as WSGI, Rack and PHP read it.
func TestChosenHeaderWithUnderscores(t *testing.T) {
	t.Parallel()
	headers := []string{"X-Tenant"}
	for _, o := range []semelhttp.Options{
		{Fingerprint: semelhttp.FingerprintOptions{Headers: headers}},
		{Key: semelhttp.Derived(semelhttp.DerivedKey{Headers: headers})},
	} {
		d, server, _ := serveInvoices(t, doorOptions{Options: o})
		key, want := "k1", outcomelog.Outcome("mismatch")
		if o.Key != nil {
			key, want = "", "executed"
		}
		ask(t, server, key, "x", "X-Tenant", "a")
		ask(t, server, key, "x", "X-Tenant", "a", "X_Tenant", "b")
		ask(t, server, key, "x", "X_Tenant", "b")
		ask(t, server, key, "x", "X-Tenant", "a")
		wantOutcomes(t, d, "executed", want, want, "replayed")
	}
}

// TestChosenSteeringHeader: a header that was chosen before all of them counted has the fingerprint it had.
func TestChosenSteeringHeader(t *testing.T) {
	t.Parallel()
	records := memstore.New(nil)
	chosen := func(names ...string) *httptest.Server {
		_, server, _ := serveInvoices(t, doorOptions{store: records, Options: semelhttp.Options{Fingerprint: semelhttp.FingerprintOptions{Headers: names}}})
		return server
	}
	send := func(server *httptest.Server) *reply {
		r := newAsk(t, server.URL+"/invoices", "x", "Idempotency-Key", "k1", "If-Match", "v1")
		r.Host = "shop.example"
		return sendAsk(t, server, r)
	}
	wantReplay(t, send(chosen("If-Match")), send(chosen()))
}

// TestFingerprintFunc: the service may say itself what counts.
func TestFingerprintFunc(t *testing.T) {
	t.Parallel()
	d, server, _ := serveInvoices(t, doorOptions{Options: semelhttp.Options{Fingerprint: semelhttp.FingerprintOptions{
		Func: func(r *http.Request, body *semelhttp.Body) (semel.Fingerprint, error) {
			length, err := body.Len()
			return semel.FingerprintOf(r.Method, fmt.Sprint(length)), err
		},
	}}})
	ask(t, server, "k1", "aaa")
	ask(t, server, "k1", "bbb")
	ask(t, server, "k1", "bbbb")
	wantOutcomes(t, d, "executed", "replayed", "mismatch")
}

// TestFingerprintFuncWithoutBody: a body that does not count still arrives.
func TestFingerprintFuncWithoutBody(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{Options: semelhttp.Options{Fingerprint: semelhttp.FingerprintOptions{
		Func: func(*http.Request, *semelhttp.Body) (semel.Fingerprint, error) {
			return semel.FingerprintOf("one"), nil
		},
	}}})
	server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	})
	if got := ask(t, server, "k1", "the body"); got.body != "the body" {
		t.Errorf("the handler read %q, want the body", got.body)
	}
	if got := ask(t, server, "k1", "another body"); got.body != "the body" || got.word() != "replayed" {
		t.Errorf("got %q %s, want the first answer", got.body, got.word())
	}
}
