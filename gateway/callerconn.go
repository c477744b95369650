package gateway

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"
)

// callerWatch ends a request's context when its caller has hung up. net/http
// does so at once, but not where the caller has sent something behind its
// request: then it does not read on, and the end of the connection stays behind
// what is unread.
type callerWatch struct {
	conn   net.Conn
	idle   time.Duration
	cancel context.CancelFunc

	mu    sync.Mutex // guards the fields below
	timer *time.Timer
	over  bool
}

type (
	connKey        struct{}
	callerWatchKey struct{}
)

// rememberConn is an http.Server.ConnContext.
func rememberConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// watchCaller returns the request with a watched context, and what ends the
// watching. Over HTTP/2 net/http always reads on.
func (g *Gateway) watchCaller(r *http.Request) (watched *http.Request, end func()) {
	conn, ok := r.Context().Value(connKey{}).(net.Conn)
	if !ok || r.ProtoMajor != 1 {
		return r, func() {}
	}
	ctx, cancel := context.WithCancel(r.Context())
	w := &callerWatch{conn: conn, idle: g.config.BodyIdleTimeout, cancel: cancel}
	w.mu.Lock()
	w.timer = time.AfterFunc(w.idle, w.look)
	w.mu.Unlock()
	return r.WithContext(context.WithValue(ctx, callerWatchKey{}, w)), func() {
		w.stop()
		cancel()
	}
}

// look is called every idle.
func (w *callerWatch) look() {
	gone := hungUp(w.conn)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.over:
	case gone:
		w.cancel()
	default:
		w.timer.Reset(w.idle)
	}
}

// stop ends the watching, and leaves the context as it is.
func (w *callerWatch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
}

// upgraded ends the watching for an answer that upgrades its connection, which
// may be closed in one direction.
func upgraded(res *http.Response) {
	if res.StatusCode != http.StatusSwitchingProtocols {
		return
	}
	if w, ok := res.Request.Context().Value(callerWatchKey{}).(*callerWatch); ok {
		w.stop()
	}
}

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

// unhurriedBody is the body of a request as it comes in. A caller may be
// slow, but may not stall: each piece must follow within idle. When the body
// has been read to its end, net/http takes the deadline away.
type unhurriedBody struct {
	io.ReadCloser
	control *http.ResponseController
	idle    time.Duration

	mu    sync.Mutex // guards the fields below: net/http's transport reads concurrently with the handler
	armed time.Time  // when the deadline was last moved
	off   bool       // stop moving the deadline
	ended error      // of the reading
}

// Read implements io.Reader.
func (b *unhurriedBody) Read(p []byte) (int, error) {
	if err := b.arm(); err != nil {
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.mu.Lock()
		b.off = true // after an error that is not the end, the server reads no further than the deadline
		b.ended = err
		b.mu.Unlock()
	}
	return n, err
}

// arm moves the deadline, or returns how the reading has ended. net/http's transport reads once more behind the end of a body. If the
// server has begun to write the answer, it has closed the body, and that reading would fail and take the answer with it.
func (b *unhurriedBody) arm() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := time.Now(); !b.off && now.Sub(b.armed) > b.idle/4 {
		b.armed = now
		b.off = b.control.SetReadDeadline(now.Add(b.idle)) != nil
	}
	return b.ended
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

// informedAnswer is the writer that httputil.ReverseProxy answers through. For
// an informational answer (1xx) of the upstream, ReverseProxy sends the whole
// header map, and then clears it. With this writer, what outer handlers had set
// before is neither sent with a 1xx nor lost after it.
type informedAnswer struct {
	http.ResponseWriter
	outer   http.Header // set before ReverseProxy ran
	cleared bool        // a 1xx has gone out since Header was last called
}

// Header implements http.ResponseWriter.
func (a *informedAnswer) Header() http.Header {
	h := a.ResponseWriter.Header()
	if a.cleared {
		a.cleared = false
		maps.Copy(h, a.outer)
	}
	return h
}

// WriteHeader implements http.ResponseWriter.
func (a *informedAnswer) WriteHeader(status int) {
	h := a.Header()
	if status < http.StatusOK && status != http.StatusSwitchingProtocols {
		for name, values := range a.outer {
			if added := h[name]; len(added) > len(values) { // ReverseProxy appends
				h[name] = added[len(values):]
			} else {
				delete(h, name)
			}
		}
		a.cleared = true
	}
	a.ResponseWriter.WriteHeader(status)
}

// NoteProblem passes on what semelhttp.WriteProblem tells.
func (a *informedAnswer) NoteProblem(name string) {
	if under, ok := a.ResponseWriter.(interface{ NoteProblem(name string) }); ok {
		under.NoteProblem(name)
	}
}

// Unwrap is for http.ResponseController.
func (a *informedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
