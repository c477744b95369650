package semelhttp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/pairs"
	"github.com/semel-dev/semel/semelhttp"
)

// transportRows has a value for every field of the client.
func transportRows() map[string]func() *semelhttp.Transport {
	type t = semelhttp.Transport
	return map[string]func() *t{
		"defaults":        func() *t { return &t{} },
		"Base":            func() *t { return &t{Base: http.DefaultTransport.(*http.Transport).Clone()} },
		"Methods":         func() *t { return &t{Methods: []string{"post"}} },
		"Methods, none":   func() *t { return &t{Methods: []string{}} },
		"Header":          func() *t { return &t{Header: "x-order-key"} },
		"MaxAttempts":     func() *t { return &t{MaxAttempts: 2} },
		"MaxElapsed":      func() *t { return &t{MaxElapsed: -1} },
		"Backoff":         func() *t { return &t{Backoff: time.Nanosecond} },
		"MaxBackoff":      func() *t { return &t{MaxBackoff: time.Nanosecond} },
		"MaxRetryAfter":   func() *t { return &t{MaxRetryAfter: time.Nanosecond} },
		"MaxBufferedBody": func() *t { return &t{MaxBufferedBody: 100} },
	}
}

// TestPairsOfOptions: a request whose first answer is lost takes effect once and gets that answer, whatever the options of client and
// server; or it is refused at once, by an answer that names the header, and has no effect.
func TestPairsOfOptions(t *testing.T) {
	t.Parallel()
	var options []*semelhttp.Options
	var fingerprints []*semelhttp.FingerprintOptions
	for _, row := range pairs.Rows() {
		options, fingerprints = append(options, &row.Options), append(fingerprints, &row.Options.Fingerprint)
	}
	var transports []*semelhttp.Transport
	for _, client := range transportRows() {
		transports = append(transports, client())
	}
	claimtest.EveryFieldSet(t, options...)
	claimtest.EveryFieldSet(t, fingerprints...)
	claimtest.EveryFieldSet(t, transports...)
	for name, client := range transportRows() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, end, err := pairs.New()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(end)
			server := httptest.NewServer(rows)
			t.Cleanup(server.Close)
			transport := client()
			transport.Backoff = time.Nanosecond // or the test would only wait
			t.Cleanup(transport.CloseIdleConnections)
			for _, row := range pairs.Rows() {
				tryRow(t, rows, &row, server.URL, transport)
			}
		})
	}
}

func tryRow(t *testing.T, rows *pairs.Server, row *pairs.Row, url string, transport *semelhttp.Transport) {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/"+row.Name+"/orders", strings.NewReader(`{"id": "order-17"}`)))
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Errorf("%s: %v", row.Name, err)
		return
	}
	body := string(must.Get(io.ReadAll(resp.Body)))
	resp.Body.Close()
	wantStatus, wantBody, wantEffects, names := http.StatusCreated, "1\n", 1, row.Names
	if transport.Header != "" {
		switch {
		case row.Names != "":
			names = "" // it sends what the row reads
		case row.Options.Required:
			names = semelhttp.DefaultHeader
		case row.Options.Key == nil:
			wantBody, wantEffects = "2\n", 2 // a server does not see a key in a header that it was not told
		}
	}
	if names != "" {
		wantStatus, wantEffects = http.StatusBadRequest, 0
	}
	got := fmt.Sprint(resp.StatusCode, rows.Effects(row.Name))
	if got != fmt.Sprint(wantStatus, wantEffects) || (names == "" && body != wantBody) || !strings.Contains(body, names) {
		t.Errorf("%s: got status and effects %s, %q; want %d %d, %q %s", row.Name, got, body, wantStatus, wantEffects, wantBody, names)
	}
}

// TestMethodsAreWrittenAsRequestsHaveThem: "post" would protect nothing.
func TestMethodsAreWrittenAsRequestsHaveThem(t *testing.T) {
	t.Parallel()
	if _, err := semelhttp.New(newDoor(t, doorOptions{}).guard, semelhttp.ScopeBy(anonymous), &semelhttp.Options{Methods: []string{"post"}}); err == nil || !strings.Contains(err.Error(), "POST") {
		t.Errorf("got %v", err)
	}
}
