package gateway

import (
	"errors"
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
			b.move(now.Add(b.idle))
		}
	}
	n, err := b.ReadCloser.Read(p)
	switch {
	case errors.Is(err, io.EOF): // what follows must not be ended by it
		b.move(time.Time{})
		b.off = true
	case err != nil: // the server reads no further than an expired deadline
		b.off = true
	}
	return n, err
}

// done leaves a deadline for what the server reads after the handler, of a body
// that was not read to its end.
func (b *unhurriedBody) done() {
	b.move(time.Now().Add(b.idle))
	b.off = true
}

func (b *unhurriedBody) move(deadline time.Time) {
	if !b.off {
		b.off = b.control.SetReadDeadline(deadline) != nil
	}
}
