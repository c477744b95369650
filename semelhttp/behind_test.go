package semelhttp_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
)

// inFrontOf returns a door whose handler passes everything on to a server.
func inFrontOf(t *testing.T, inner *httptest.Server, o semelhttp.Options) *httptest.Server {
	t.Helper()
	return newDoor(t, doorOptions{Options: o}).serve(t, func(w http.ResponseWriter, r *http.Request) {
		out, err := http.NewRequestWithContext(r.Context(), r.Method, inner.URL+r.URL.Path, r.Body)
		noError(t, err)
		out.Header = r.Header.Clone()
		answer, err := inner.Client().Do(out)
		noError(t, err)
		defer func() { _ = answer.Body.Close() }()
		maps.Copy(w.Header(), answer.Header)
		coding := r.Header.Get("X-Compress")
		if coding == "" || answer.StatusCode < http.StatusBadRequest {
			w.WriteHeader(answer.StatusCode)
			_, _ = io.Copy(w, answer.Body)
			return
		}
		w.Header().Del("Content-Length")
		w.Header().Set("Content-Encoding", coding)
		w.WriteHeader(answer.StatusCode)
		packed := gzip.NewWriter(w) // br is only a name that cannot be read
		_, _ = io.Copy(packed, answer.Body)
		noError(t, packed.Close())
	})
}

// TestSemelBehindACompression (promise 2): a refusal that a layer or proxy of the service compresses says the same.
func TestSemelBehindACompression(t *testing.T) {
	t.Parallel()
	for coding, statuses := range map[string][]int{"gzip": {409, 503}, "br": {409}} {
		for _, inFlight := range statuses {
			t.Run(fmt.Sprint(coding, inFlight), func(t *testing.T) {
				t.Parallel()
				semelBehindSemel(t, inFlight, "*/*", semelhttp.StoreOn5xx, "X-Compress", coding)
			})
		}
	}
}

// TestSemelBehindSemel (promise 2): a service that uses Semel says that the same intent is still running. That is not the outcome: a
// repetition asks it again, and gets the answer.
func TestSemelBehindSemel(t *testing.T) {
	t.Parallel()
	for _, inFlight := range []int{http.StatusConflict, http.StatusServiceUnavailable} {
		for name, accept := range map[string]string{"a program": "*/*", "a person": "text/html"} {
			for word, on5xx := range map[string]semelhttp.On5xx{"release": semelhttp.ReleaseOn5xx, "store": semelhttp.StoreOn5xx, "unknown": semelhttp.UnknownOn5xx} {
				t.Run(fmt.Sprintf("%d, %s, %s", inFlight, name, word), func(t *testing.T) {
					t.Parallel()
					semelBehindSemel(t, inFlight, accept, on5xx)
				})
			}
		}
	}
}

// semelBehindSemel sends a request through two doors while the inner one is at work on it, and afterwards.
func semelBehindSemel(t *testing.T, inFlight int, accept string, on5xx semelhttp.On5xx, header ...string) {
	t.Helper()
	var invoices counter
	d := newDoor(t, doorOptions{policy: semel.Policy{Wait: semel.NoWait}, Options: semelhttp.Options{InFlightStatus: inFlight}})
	inner, finish := d.busy(t, &invoices)
	outer := inFrontOf(t, inner, semelhttp.Options{On5xx: on5xx})
	want := inFlight
	if accept == "text/html" {
		want = http.StatusConflict
	}
	header = append(header, "Accept", accept)
	first := ask(t, outer, "k1", "x", header...)
	if first.status != want || first.word() != "released" {
		t.Errorf("while it runs: got %d %q, want %d released", first.status, first.word(), want)
	}
	finish()
	second := ask(t, outer, "k1", "x", header...)
	if second.status != http.StatusCreated {
		t.Errorf("afterwards: got %d %s, want the answer", second.status, second.body)
	}
	wantReplay(t, second, ask(t, outer, "k1", "x", header...))
	invoices.wantRan(t, "promise 1", 1)
}

// TestSemelBehindSemelCannotTell: what a service behind this one says of an intent that it could not carry out, or does not know about.
func TestSemelBehindSemelCannotTell(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		problem semelhttp.Problem
		word    string
	}{
		"unknown":             {semelhttp.Problem{Name: "outcome-unknown", Status: http.StatusConflict}, "unknown"},
		"it will find out":    {semelhttp.Problem{Name: "outcome-unknown", Status: http.StatusConflict, Retryable: true}, "released"},
		"it is looked up":     {semelhttp.Problem{Name: "outcome-unknown", Status: http.StatusBadGateway, Retryable: true}, "unknown"},
		"a proxy lost it":     {semelhttp.Problem{Name: "outcome-unknown", Status: http.StatusGatewayTimeout}, "unknown"},
		"it is shutting down": {semelhttp.Problem{Name: "shutting-down", Status: http.StatusServiceUnavailable, Retryable: true}, "unknown"},
		"another key":         {semelhttp.Problem{Name: "key-reused", Status: http.StatusUnprocessableEntity}, "executed"},
		"it happened":         {semelhttp.Problem{Name: "response-not-kept", Status: http.StatusConflict}, "executed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { semelhttp.WriteProblem(w, r, tt.problem) }))
			t.Cleanup(inner.Close)
			outer := inFrontOf(t, inner, semelhttp.Options{On5xx: semelhttp.UnknownOn5xx})
			if first := ask(t, outer, "k1", "x"); first.word() != tt.word || first.status != tt.problem.Status {
				t.Errorf("got %d %q, want %d %q", first.status, first.word(), tt.problem.Status, tt.word)
			}
		})
	}
}
