package semelhttp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/semelhttp"
)

type requestVector struct {
	Case          string            `json:"case"`
	Method        string            `json:"method"`
	Host          string            `json:"host"`
	Path          string            `json:"path"`
	Query         string            `json:"query"`
	Headers       map[string]string `json:"headers"`
	Body          string            `json:"body"`
	CanonicalJSON bool              `json:"canonical_json"`
	Fingerprint   string            `json:"fingerprint"`
}

// What is recorded of a request today is recognised by a later version: a
// fingerprint that changed would turn every replay into a mismatch.
func TestRequestVectors(t *testing.T) {
	t.Parallel()
	raw := must.Get(os.ReadFile("../testdata/vectors/fingerprints.json"))
	var file struct {
		Requests []requestVector `json:"requests"`
	}
	noError(t, json.Unmarshal(raw, &file))
	if len(file.Requests) < 10 {
		t.Fatalf("fingerprints.json has %d requests only", len(file.Requests))
	}
	for _, v := range file.Requests {
		t.Run(v.Case, func(t *testing.T) {
			t.Parallel()
			if got := recordedFingerprint(t, v); got != v.Fingerprint {
				t.Errorf("got %s, want %s", got, v.Fingerprint)
			}
		})
	}
}

// recordedFingerprint sends the request through a door and reads its record.
func recordedFingerprint(t *testing.T, v requestVector) string {
	t.Helper()
	d := newDoor(t, doorOptions{Options: semelhttp.Options{
		Fingerprint: semelhttp.FingerprintOptions{CanonicalJSON: v.CanonicalJSON},
	}})
	handler := d.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }))
	target := must.Get(url.ParseRequestURI(v.Path + "?" + v.Query))
	r := httptest.NewRequestWithContext(t.Context(), v.Method, target.String(), strings.NewReader(v.Body))
	r.Host = v.Host
	for name, value := range v.Headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Idempotency-Key", `"k"`)
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, r)
	if rec.Code != http.StatusCreated || len(d.decisions) != 1 {
		t.Fatalf("got %d: %s", rec.Code, rec.Body)
	}
	record := must.Get(d.store.Lookup(t.Context(), d.decisions[0].Digest))
	return record.Fingerprint.String()
}
