package semelhttp_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/semel-dev/semel/semelhttp"
)

// encoded returns the text in a coding.
func encoded(t *testing.T, coding, text string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	if coding == "deflate" {
		w = zlib.NewWriter(&b)
	}
	_, err := io.WriteString(w, text)
	noError(t, err)
	noError(t, w.Close())
	return b.String()
}

// TestReplayIsDecodedForCallersThatDoNotAcceptTheCoding: what a caller can read depends on the one that asks, not on the first.
func TestReplayIsDecodedForCallersThatDoNotAcceptTheCoding(t *testing.T) {
	t.Parallel()
	const text = `{"id":1}`
	for _, tt := range []struct {
		coding, accept string
		decoded        bool
	}{
		{"gzip", "gzip", false},
		{"gzip", "br, GZIP;q=0.5", false},
		{"gzip", "*", false},
		{"gzip", "x-gzip", false},
		{"x-gzip", "gzip", false},
		{"gzip", "*;q=0", true},
		{"gzip", "identity", true},
		{"gzip", "identity, gzip; q=0", true},
		{"gzip", "*, gzip;q=0.0", true},
		{"gzip", "br", true},
		{"deflate", "gzip", true},
		{"deflate", "deflate", false},
		{"br", "gzip", false},         // not known here
		{"gzip, gzip", "br", false},   // likewise
		{"identity", "gzip", false},   // nothing to decode
		{"gzip broken", "br", false},  // not gzip at all
		{"gzip cut off", "br", false}, // not to its end
	} {
		t.Run(tt.coding+" for "+tt.accept, func(t *testing.T) {
			t.Parallel()
			coding, how, _ := strings.Cut(tt.coding, " ")
			body := encoded(t, coding, text)
			switch {
			case how == "broken":
				body = text
			case how == "cut off":
				body = body[:len(body)-4]
			case strings.HasSuffix(coding, ","):
				coding = tt.coding
			}
			server := newDoor(t, doorOptions{}).serve(t, func(w http.ResponseWriter, _ *http.Request) {
				h := w.Header()
				h.Set("Content-Encoding", coding)
				h.Set("Etag", `"v1"`)
				h.Set("Content-Digest", "sha-256=:x:")
				h.Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, body)
			})
			ask(t, server, "k1", "a", "Accept-Encoding", "gzip, deflate, br")
			replay := ask(t, server, "k1", "a", "Accept-Encoding", tt.accept)
			want, wantCoding, tag, digest := body, coding, `"v1"`, "sha-256=:x:"
			if tt.decoded {
				want, wantCoding, tag, digest = text, "", `W/"v1"`, ""
			}
			h := replay.header
			if replay.body != want || h.Get("Content-Encoding") != wantCoding || h.Get("Etag") != tag || h.Get("Content-Digest") != digest || replay.word() != "replayed" {
				t.Errorf("got %q %v", replay.body, h)
			}
			if !strings.Contains(strings.Join(h.Values("Vary"), ","), "Accept-Encoding") {
				t.Errorf("Vary is %q", h.Values("Vary"))
			}
		})
	}
}

// TestReplayIsDecodedForCallersThatSayNothing: most of those cannot decode.
func TestReplayIsDecodedForCallersThatSayNothing(t *testing.T) {
	t.Parallel()
	handler := newDoor(t, doorOptions{}).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, encoded(t, "gzip", "text"))
	}))
	handle(t, handler, "/invoices", "a", "Idempotency-Key", "k1")
	replay := handle(t, handler, "/invoices", "a", "Idempotency-Key", "k1")
	if replay.Body.String() != "text" || replay.Header().Get("Content-Length") != "4" {
		t.Errorf("got %q %v", replay.Body, replay.Header())
	}
}

// TestDecodingIsBounded: a small record that decodes into more than a bound goes out as it was recorded.
func TestDecodingIsBounded(t *testing.T) {
	t.Parallel()
	bomb := encoded(t, "gzip", strings.Repeat("\x00", 33<<20))
	server := newDoor(t, doorOptions{Options: semelhttp.Options{}}).serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, bomb)
	})
	ask(t, server, "k1", "a", "Accept-Encoding", "gzip")
	if replay := ask(t, server, "k1", "a", "Accept-Encoding", "identity"); replay.body != bomb || replay.header.Get("Content-Encoding") != "gzip" {
		t.Errorf("got %d bytes, %v", len(replay.body), replay.header)
	}
}
