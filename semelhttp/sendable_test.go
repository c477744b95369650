package semelhttp_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/semelhttp"
)

// exchangeBytes sends raw bytes over a connection of its own and returns all
// that comes back until the server closes it.
func exchangeBytes(t *testing.T, server *httptest.Server, request string) string {
	t.Helper()
	return string(must.Get(io.ReadAll(sendRaw(t, server, request))))
}

// planted is a door whose store holds a completed record of the key "k" with
// these bytes as its outcome.
func planted(t *testing.T, outcome []byte) (*httptest.Server, *counter) {
	t.Helper()
	var invoices counter
	d := newDoor(t, doorOptions{
		scope: func(*http.Request) (string, error) { return "s", nil },
		Options: semelhttp.Options{Methods: []string{"POST", "HEAD"}, Fingerprint: semelhttp.FingerprintOptions{
			Func: func(*http.Request, *semelhttp.Body) (semel.Fingerprint, error) {
				return semel.FingerprintOf("any"), nil
			},
		}},
	})
	claim, _, err := d.guard.Begin(t.Context(), semel.Key{Scope: "s", Name: "k"}, semel.FingerprintOf("any"))
	if err != nil {
		t.Fatal(err)
	}
	noError(t, claim.Complete(outcome, nil))
	return d.serve(t, invoices.create), &invoices
}

// TestTamperedRecord: promise 5: a record that another program put into the store
// injects no header and splits no answer: it is refused as a whole.
func TestTamperedRecord(t *testing.T) {
	t.Parallel()
	type response = semelhttp.Response
	header := func(pairs ...string) http.Header {
		h := http.Header{"X-Planted": {"1"}}
		for i := 0; i < len(pairs); i += 2 {
			h[pairs[i]] = append(h[pairs[i]], pairs[i+1])
		}
		return h
	}
	for name, test := range map[string]response{
		"CR LF in a value":            {Status: 200, Header: header("X-A", "a\r\nX-Injected: 1")},
		"LF in a value":               {Status: 200, Header: header("X-A", "a\nX-Injected: 1")},
		"NUL in a value":              {Status: 200, Header: header("X-A", "a\x00X-Injected")},
		"DEL in a value":              {Status: 200, Header: header("X-A", "\x7f")},
		"LF in a second value":        {Status: 200, Header: header("X-A", "a", "X-A", "\nX-Injected: 1")},
		"CR LF in a name":             {Status: 200, Header: header("X-A: a\r\nX-Injected", "1")},
		"space in a name":             {Status: 200, Header: header("X-Injected ", "1")},
		"colon in a name":             {Status: 200, Header: header("X-Injected: a", "1")},
		"UTF-8 in a name":             {Status: 200, Header: header("X-Injécted", "1")},
		"short length":                {Status: 200, Header: header("Content-Length", "1"), Body: []byte("a\r\n\r\nHTTP/1.1 200 X-Injected")},
		"long length":                 {Status: 200, Header: header("Content-Length", "9999"), Body: []byte("a")},
		"two lengths":                 {Status: 200, Header: header("Content-Length", "1", "Content-Length", "1"), Body: []byte("a")},
		"two lengths, two spellings":  {Status: 200, Header: header("Content-Length", "1", "content-length", "1"), Body: []byte("a")},
		"signed length":               {Status: 200, Header: header("Content-Length", "+1"), Body: []byte("a")},
		"list of lengths":             {Status: 200, Header: header("Content-Length", "1, 1"), Body: []byte("a")},
		"chunked":                     {Status: 200, Header: header("Transfer-Encoding", "chunked"), Body: []byte("0\r\n\r\nHTTP/1.1 200 X-Injected")},
		"chunked in small letters":    {Status: 200, Header: header("transfer-encoding", "chunked"), Body: []byte("0\r\n\r\n")},
		"hop by hop":                  {Status: 200, Header: header("Connection", "X-Kept", "X-Kept", "1")},
		"upgrade":                     {Status: 200, Header: header("Upgrade", "h2c")},
		"keep alive":                  {Status: 200, Header: header("keep-alive", "timeout=9")},
		"cookie":                      {Status: 200, Header: header("Set-Cookie", "session=X-Injected")},
		"cookie in small letters":     {Status: 200, Header: header("set-cookie", "session=X-Injected")},
		"date":                        {Status: 200, Header: header("Date", "Mon, 02 Jan 2006 15:04:05 GMT")},
		"word":                        {Status: 200, Header: header(semelhttp.StatusHeader, "executed")},
		"trailer prefix":              {Status: 200, Header: header(http.TrailerPrefix+"X-Injected", "1")},
		"100":                         {Status: 100, Header: header()},
		"101":                         {Status: 101, Header: header("X-A", "1")},
		"103 with a body":             {Status: 103, Header: header(), Body: []byte("a")},
		"204 with a body":             {Status: 204, Header: header(), Body: []byte("HTTP/1.1 200 X-Injected")},
		"204 with a length":           {Status: 204, Header: header("Content-Length", "0")},
		"304 with a body":             {Status: 304, Header: header(), Body: []byte("HTTP/1.1 200 X-Injected")},
		"no body, marked so":          {Status: 200, Header: header(), BodyOmitted: true},
		"trailer with LF":             {Status: 200, Header: header(), Trailer: http.Header{"X-A": {"\nX-Injected: 1"}}},
		"trailer with a length":       {Status: 200, Header: header(), Trailer: http.Header{"Content-Length": {"1"}}},
		"trailer named with CR LF":    {Status: 200, Header: header(), Trailer: http.Header{"X-A\r\nX-Injected": {"1"}}},
		"trailer that sets a session": {Status: 200, Header: header(), Trailer: http.Header{"Set-Cookie": {"X-Injected"}}},
	} {
		outcome, err := test.MarshalBinary()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		server, invoices := planted(t, outcome)
		got := exchangeBytes(t, server, "POST / HTTP/1.1\r\nHost: h\r\nIdempotency-Key: k\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		in := bufio.NewReader(strings.NewReader(got))
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Errorf("%s: the answer cannot be read: %v\n%q", name, err, got)
			continue
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusConflict || !strings.Contains(string(body), "response-not-kept") || err != nil {
			t.Errorf("%s: got %d %s %v, want 409 response-not-kept", name, res.StatusCode, body, err)
		}
		if rest, _ := io.ReadAll(in); len(rest) > 0 || strings.Contains(got, "Injected") || strings.Contains(got, "Planted") {
			t.Errorf("%s: something of the record went out: %q", name, got)
		}
		invoices.wantRan(t, "promise 3", 0)
	}
}

// TestSoundRecord: what a record may hold, it may still hold.
func TestSoundRecord(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		method string
		answer semelhttp.Response
	}{
		"plain":     {"POST", semelhttp.Response{Status: 200, Header: http.Header{"X-A": {"a\tb", "é", ""}, "Content-Length": {"1"}}, Body: []byte("a")}},
		"304":       {"POST", semelhttp.Response{Status: 304, Header: http.Header{"Etag": {`"a"`}}}},
		"204":       {"POST", semelhttp.Response{Status: 204, Header: http.Header{"X-A": {"1"}}}},
		"HEAD":      {"HEAD", semelhttp.Response{Status: 200, Header: http.Header{"Content-Length": {"77"}}}},
		"trailer":   {"POST", semelhttp.Response{Status: 200, Header: http.Header{}, Trailer: http.Header{"X-Sum": {"1"}}, Body: []byte("a")}},
		"no values": {"POST", semelhttp.Response{Status: 200, Header: http.Header{"X-Removed": nil, "Content-Length": nil}, Body: []byte("a")}},
	} {
		outcome := must.Get(test.answer.MarshalBinary())
		server, _ := planted(t, outcome)
		r := newAsk(t, server.URL, "", "Idempotency-Key", "k")
		r.Method = test.method
		got := sendAsk(t, server, r)
		if got.status != test.answer.Status || got.body != string(test.answer.Body) || got.word() != "replayed" {
			t.Errorf("%s: got %d %v %q", name, got.status, got.header, got.body)
		}
	}
}

// TestRecordedHeadersAreClean: a header that cannot be sent unchanged
// is cleaned or left out when it is recorded, so that its own replay is
// not taken for tampering.
func TestRecordedHeadersAreClean(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{})
	server := d.serve(t, func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("X-Lines", "a\r\nX-Injected: 1")
		h.Set("X-Nul", "a\x00b")
		h["X Space"] = []string{"1"}
		h["X-Nl\nX-Injected"] = []string{"1"}
		h["content-length"] = nil
		h.Set("Trailer", "X-Sum, Content-Length")
		h.Set("Keep-Alive", "timeout=1")
		fmt.Fprint(w, "ok")
		h.Set("X-Sum", "a\nb")
		h.Set("Content-Length", "99")
	})
	first := exchangeBytes(t, server, "POST /invoices HTTP/1.1\r\nHost: "+server.Listener.Addr().String()+
		"\r\nIdempotency-Key: k1\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx")
	second := ask(t, server, "k1", "x")
	if !strings.Contains(first, "Idempotency-Status: executed") || second.word() != "replayed" || second.body != "ok" || second.status != http.StatusOK {
		t.Fatalf("got %q, then %d %v %q", first, second.status, second.header, second.body)
	}
	got := map[string][]string{}
	for name, values := range second.header {
		if strings.HasPrefix(name, "X") || strings.HasPrefix(name, "x") || name == "Keep-Alive" {
			got[name] = values
		}
	}
	if diff := cmp.Diff(map[string][]string{"X-Lines": {"a  X-Injected: 1"}}, got); diff != "" {
		t.Errorf("replayed (-want +got):\n%s", diff)
	}
}
