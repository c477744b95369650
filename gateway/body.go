package gateway

import (
	"io"
	"net/http"
	"time"
)

// unhurriedBody is the body of a request as it comes in. A caller may take its
// time, but not stand still: each piece must follow within idle.
type unhurriedBody struct {
	io.ReadCloser
	control *http.ResponseController
	idle    time.Duration
	armed   time.Time // when the deadline was last moved
	off     bool      // deadlines are not supported, or no longer needed
}

// Read implements io.Reader.
func (b *unhurriedBody) Read(p []byte) (int, error) {
	if !b.off {
		if now := time.Now(); now.Sub(b.armed) > b.idle/4 {
			b.armed = now
			b.off = b.control.SetReadDeadline(now.Add(b.idle)) != nil
		}
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.done()
	}
	return n, err
}

// done takes the deadline away, so that it does not end what follows.
func (b *unhurriedBody) done() {
	if !b.off && !b.armed.IsZero() {
		b.off = b.control.SetReadDeadline(time.Time{}) != nil
		b.armed = time.Time{}
	}
}
