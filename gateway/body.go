package gateway

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// unhurriedBody is the body of a request as it comes in. A caller may be
// slow, but may not stall: each piece must follow within idle. When the body
// has been read to its end, net/http takes the deadline away.
type unhurriedBody struct {
	io.ReadCloser
	control *http.ResponseController
	idle    time.Duration

	mu    sync.Mutex // guards the fields below: net/http's transport reads concurrently with the handler
	armed time.Time  // when the deadline was last moved
	off   bool       // the deadline is no longer ours to move
}

// Read implements io.Reader.
func (b *unhurriedBody) Read(p []byte) (int, error) {
	b.arm()
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.mu.Lock()
		b.off = true // after an error that is not the end, the server reads no further than the deadline
		b.mu.Unlock()
	}
	return n, err
}

func (b *unhurriedBody) arm() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := time.Now(); !b.off && now.Sub(b.armed) > b.idle/4 {
		b.armed = now
		b.off = b.control.SetReadDeadline(now.Add(b.idle)) != nil
	}
}

// unread sets a deadline for the rest of a body, which the server reads on its own
// when the handler does not: before it writes an answer, and after the handler. It is half of
// idle, so that the answer has the rest.
func (b *unhurriedBody) unread() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.off {
		_ = b.control.SetReadDeadline(time.Now().Add(b.idle / 2)) // not every server has deadlines
	}
}

// done ends the handler's reading.
func (b *unhurriedBody) done() {
	b.unread()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.off = true
}
