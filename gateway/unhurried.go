package gateway

import (
	"net/http"
	"sync"
	"time"
)

// maxAnswerPiece bounds what is written under one deadline: so slow a reader
// may be.
const maxAnswerPiece = 64 << 10

// unhurriedAnswer is the writer of an answer. A caller may take its time to
// read, but not stand still: each piece must be taken within idle.
type unhurriedAnswer struct {
	http.ResponseWriter
	control *http.ResponseController
	idle    time.Duration
	shared  bool // an HTTP/2 connection, which ends a stream at its deadline even if nothing is being written

	mu    sync.Mutex // guards the field below: a handler may leave a goroutine behind
	armed time.Time  // when the deadline was last moved
}

func newUnhurriedAnswer(w http.ResponseWriter, r *http.Request, idle time.Duration) *unhurriedAnswer {
	a := &unhurriedAnswer{ResponseWriter: w, control: http.NewResponseController(w), idle: idle, shared: r.ProtoMajor > 1}
	_ = a.control.SetWriteDeadline(time.Time{}) // of the request before, on the same connection
	return a
}

// Write implements http.ResponseWriter.
func (a *unhurriedAnswer) Write(p []byte) (int, error) {
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

// FlushError is what http.ResponseController calls.
func (a *unhurriedAnswer) FlushError() error {
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
func (a *unhurriedAnswer) done() { a.arm(true) }
