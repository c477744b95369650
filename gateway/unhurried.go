package gateway

import (
	"net/http"
	"sync"
	"time"
)

// maxAnswerPiece bounds what is written under one deadline: so slow a reader
// may be.
const maxAnswerPiece = 64 << 10

// unhurriedAnswer is the writer of an answer. A caller may read
// slowly, but may not stall: each piece must be taken within idle.
type unhurriedAnswer struct {
	http.ResponseWriter
	control *http.ResponseController
	idle    time.Duration
	shared  bool // an HTTP/2 connection, which ends a stream at its deadline even if nothing is being written
	// last: the connection is closed after the answer. The request was chunked,
	// and net/http does not say whether there was a Content-Length too, or it came
	// by HTTP/1.0, for which net/http reads past Transfer-Encoding. If there were
	// both, the sender may have believed the other one, and what it sends next is
	// not what it looks like (RFC 9112, sections 6.1 and 6.3).
	last bool

	mu    sync.Mutex // guards the field below: a handler may leave a goroutine behind
	armed time.Time  // when the deadline was last moved
}

func newUnhurriedAnswer(w http.ResponseWriter, r *http.Request, idle time.Duration) *unhurriedAnswer {
	a := &unhurriedAnswer{
		ResponseWriter: w, control: http.NewResponseController(w), idle: idle, shared: r.ProtoMajor > 1,
		last: r.ProtoMajor == 1 && (len(r.TransferEncoding) > 0 || r.ProtoMinor == 0),
	}
	_ = a.control.SetWriteDeadline(time.Time{}) // of the request before, on the same connection
	return a
}

// WriteHeader implements http.ResponseWriter.
func (a *unhurriedAnswer) WriteHeader(status int) {
	if status >= http.StatusOK {
		a.sayLast()
	}
	a.ResponseWriter.WriteHeader(status)
}

// sayLast is called where the header of the answer goes out, and not before: a
// 1xx would carry it too, and a connection that was upgraded goes on.
func (a *unhurriedAnswer) sayLast() {
	if a.last {
		a.last = false
		a.Header()["Connection"] = []string{"close"}
	}
}

// Write implements http.ResponseWriter.
func (a *unhurriedAnswer) Write(p []byte) (int, error) {
	a.sayLast()
	written := 0
	for {
		piece := p[written:min(len(p), written+maxAnswerPiece)]
		a.arm(false)
		n, err := a.ResponseWriter.Write(piece)
		a.disarm()
		written += n
		if err != nil || written == len(p) {
			return written, err
		}
	}
}

// FlushError is called by http.ResponseController.
func (a *unhurriedAnswer) FlushError() error {
	a.sayLast()
	a.arm(false)
	defer a.disarm()
	return a.control.Flush()
}

// Flush implements http.Flusher.
func (a *unhurriedAnswer) Flush() { _ = a.FlushError() }

// Unwrap is for http.ResponseController.
func (a *unhurriedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// arm moves the deadline, at most four times in idle unless always.
func (a *unhurriedAnswer) arm(always bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := time.Now(); always || now.Sub(a.armed) > a.idle/4 {
		a.armed = now
		_ = a.control.SetWriteDeadline(now.Add(a.idle)) // not every server has deadlines
	}
}

// disarm takes the deadline away where it would end a stream that is silent.
func (a *unhurriedAnswer) disarm() {
	if !a.shared {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.armed = time.Time{}
	_ = a.control.SetWriteDeadline(time.Time{})
}

// done leaves a deadline for what the server writes after the handler.
func (a *unhurriedAnswer) done() {
	a.sayLast()
	a.arm(true)
}
