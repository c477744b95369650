package semelhttp_test

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
)

type closeCounter struct {
	io.Reader
	closed atomic.Int32
}

func (c *closeCounter) Close() error {
	c.closed.Add(1)
	return nil
}

func TestTransportBodies(t *testing.T) {
	t.Parallel()
	const most = 16
	tests := []struct {
		name     string
		body     io.Reader
		length   int64
		attempts int
		sent     string
		sentLen  int64
	}{
		{"none", nil, 0, 3, "", 0},
		{"empty", strings.NewReader(""), 0, 3, "", 0},
		{"empty without GetBody", io.MultiReader(), 0, 3, "", 0},
		{"with GetBody, larger than the buffer", strings.NewReader(strings.Repeat("x", 100)), 100, 3, strings.Repeat("x", 100), 100},
		{"buffered", io.MultiReader(strings.NewReader("hello")), 0, 3, "hello", 5},
		{"buffered to the brim", io.MultiReader(strings.NewReader(strings.Repeat("x", most))), 0, 3, strings.Repeat("x", most), most},
		{"too large", io.MultiReader(strings.NewReader(strings.Repeat("x", most+1))), 0, 1, strings.Repeat("x", most+1), 0},
		{"too large, announced", io.MultiReader(strings.NewReader(strings.Repeat("x", most+1))), most + 1, 1, strings.Repeat("x", most+1), most + 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tr, log := noPause(func(_ int, req *http.Request) (*http.Response, error) {
				if req.ContentLength != tt.sentLen {
					t.Errorf("Content-Length %d, want %d", req.ContentLength, tt.sentLen)
				}
				if has := req.Body != nil; has != (tt.sent != "") {
					t.Errorf("has a body: %v", has)
				}
				if can := req.GetBody != nil; can != (tt.sent != "" && tt.attempts > 1) {
					t.Errorf("a connection that died idle can be replaced: %v", can)
				}
				return nil, io.ErrUnexpectedEOF
			})
			tr.MaxAttempts, tr.MaxBufferedBody = 3, most
			req := post(t, t.Context(), tt.body)
			if req.GetBody == nil {
				req.ContentLength = tt.length
			}
			var body *closeCounter
			if req.Body != nil && req.Body != http.NoBody {
				body = &closeCounter{Reader: req.Body}
				req.Body = body
			}
			_, err := tr.RoundTrip(req) //nolint:bodyclose // an error has none.
			if !errors.Is(err, semel.ErrUnknown) || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("got %v", err)
			}
			if tt.attempts == 1 && !strings.Contains(err.Error(), "cannot be sent again") {
				t.Errorf("the error does not say why it was not repeated: %v", err)
			}
			want := slices.Repeat([]string{tt.sent}, tt.attempts)
			if diff := cmp.Diff(want, log.bodies); diff != "" {
				t.Errorf("bodies: -want +got\n%s", diff)
			}
			if body != nil && body.closed.Load() != 1 {
				t.Errorf("the caller's body was closed %d times", body.closed.Load())
			}
		})
	}
}

func TestTransportBodyThatCannotBeRead(t *testing.T) {
	t.Parallel()
	tr, log := noPause(nil)
	body := &closeCounter{Reader: iotest.ErrReader(io.ErrNoProgress)}
	_, err := tr.RoundTrip(post(t, t.Context(), body)) //nolint:bodyclose // an error has none.
	if !errors.Is(err, io.ErrNoProgress) || errors.Is(err, semel.ErrUnknown) {
		t.Errorf("got %v, want %v and not unknown", err, io.ErrNoProgress)
	}
	if len(log.keys) != 0 || body.closed.Load() != 1 {
		t.Errorf("%d attempts, body closed %d times; want none and once", len(log.keys), body.closed.Load())
	}
}
