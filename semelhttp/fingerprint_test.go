package semelhttp_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/semelhttp"
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
