package gateway

import (
	"context"
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
