package gateway

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/semelhttp"
)

const (
	maxIdleConns           = 1024
	maxAnswerHeaderBytes   = 256 << 10
	expectContinueTimeout  = time.Second
	connectionKeepAlive    = 30 * time.Second
	tlsHandshakeTimeout    = 10 * time.Second
	maxHeldBytes           = 64 << 10
	firstHeldBytes         = 4 << 10
	maxInHandBytes         = 16 << 10
	noteAnswerBroke        = "the upstream's answer broke off: "
	canonicalKeyHeader     = "Idempotency-Key"
	canonicalKeyHeaderX    = "X-Idempotency-Key"
	disguisedKeyHeader     = "idempotency-key"
	disguisedKeyHeaderX    = "x-idempotency-key"
	failureUnreachable     = "unreachable"
	failureTimeout         = "timeout"
	failureNoAnswer        = "no-answer"
	failureBrokenAnswer    = "broken-answer"
	failureCallerCancelled = "cancelled"
)

// upstream sends requests to the application behind the gateway, each at most
// once, and says of every failure whether the request may have arrived.
type upstream struct {
	http1 *http1 // nil where it cannot be used
	base  *http.Transport
	// bare is for HEAD and conditional GET, whose answers may declare a length without a body. If the upstream sends one all
	// the same, it must not be taken for the answer to a request that changes something.
	bare *http.Transport
	// long are the buffers of [upstream.hold] for answers that are longer than their first buffer.
	long sync.Pool // of *longBuffer
}

type longBuffer [maxHeldBytes + 1]byte

func newUpstream(c *Config) *upstream {
	dialer := &net.Dialer{Timeout: c.DialTimeout, KeepAlive: connectionKeepAlive}
	base := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &meteredConn{Conn: conn}, nil
		},
		TLSClientConfig:        c.UpstreamTLS,
		TLSHandshakeTimeout:    tlsHandshakeTimeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // the caller's Accept-Encoding decides
		MaxIdleConns:           maxIdleConns,
		MaxIdleConnsPerHost:    maxIdleConns,
		IdleConnTimeout:        c.UpstreamIdleTimeout,
		ResponseHeaderTimeout:  c.AnswerTimeout,
		ExpectContinueTimeout:  expectContinueTimeout,
		MaxResponseHeaderBytes: maxAnswerHeaderBytes,
		ReadBufferSize:         8 << 10,
		WriteBufferSize:        8 << 10,
	}
	return &upstream{http1: newHTTP1(c, dialer), base: base, bare: base.Clone()}
}

// newHTTP1 returns the way to an application without TLS, or nil.
func newHTTP1(c *Config, dialer *net.Dialer) *http1 {
	target, err := url.Parse(c.Upstream)
	if !knowsQuiet || err != nil || target.Scheme != "http" {
		return nil
	}
	address := target.Host
	if target.Port() == "" {
		address = net.JoinHostPort(target.Hostname(), "80")
	}
	return &http1{
		host: target.Host, address: address, dial: dialer.DialContext, answerTimeout: c.AnswerTimeout, idleTimeout: c.UpstreamIdleTimeout,
	}
}

// closeIdle closes the connections that no request uses.
func (u *upstream) closeIdle() {
	u.http1.closeIdle()
	u.base.CloseIdleConnections()
	u.bare.CloseIdleConnections()
}

// RoundTrip implements http.RoundTripper for httputil.ReverseProxy, whose
// outgoing request is a clone that belongs to this call. Errors are [*failure].
func (u *upstream) RoundTrip(req *http.Request) (*http.Response, error) {
	here, err := inHand(req)
	if err != nil {
		return nil, newFailure(req.Context(), err, false, false)
	}
	claimed := semel.ClaimFrom(req.Context()) != nil
	if u.http1.takes(req, here) {
		return u.sendHTTP1(req, claimed)
	}
	disguise(req)
	if reads := req.Method == http.MethodGet || req.Method == http.MethodHead; reads && !claimed {
		res, err := u.read(req)
		if err != nil {
			return nil, newFailure(req.Context(), err, true, false)
		}
		return res, nil
	}
	ctx, cancel := context.WithCancelCause(req.Context()) // ends with that of req, if not before
	sent := sending{forbid: func() { cancel(errResent) }}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: sent.gotConn, WroteHeaders: sent.wroteHeaders})
	res, err := u.send(req.WithContext(ctx), &sent)
	if err != nil {
		cancel(nil)
		return nil, newFailure(req.Context(), err, sent.sent() || !claimed, sent.acted())
	}
	if !claimed {
		return res, nil
	}
	if err := u.hold(req.Context(), res); err != nil {
		return nil, err
	}
	return res, nil
}

// sendHTTP1 sends a request on one of our own connections.
func (u *upstream) sendHTTP1(req *http.Request, claimed bool) (*http.Response, error) {
	repeatable := !claimed && (req.Body == nil || req.Body == http.NoBody) &&
		(req.Method == http.MethodGet || req.Method == http.MethodOptions || req.Method == http.MethodTrace)
	res, sent, acted, err := u.http1.roundTrip(req, repeatable)
	if err == nil && res.StatusCode < http.StatusContinue {
		_ = res.Body.Close() // the status is the news
		err = invalidStatus(res)
	}
	if err != nil {
		return nil, newFailure(req.Context(), err, sent || !claimed, acted)
	}
	if claimed {
		if err := u.hold(req.Context(), res); err != nil {
			return nil, err
		}
	}
	return res, nil
}

func invalidStatus(res *http.Response) error {
	return fmt.Errorf("the upstream sent the invalid status code %03d", res.StatusCode)
}

// errResent ends a request that net/http is about to send a second time.
var errResent = errors.New("the upstream took the request, and then said that it had not")

// read sends a request that changes nothing.
func (u *upstream) read(req *http.Request) (*http.Response, error) {
	var sent sending
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{GotConn: sent.gotConn})
	return u.send(req.WithContext(ctx), &sent)
}

// reader sends requests that change nothing, for http.Client.
type reader struct{ *upstream }

// RoundTrip implements http.RoundTripper.
func (r reader) RoundTrip(req *http.Request) (*http.Response, error) { return r.read(req) }

// send refuses a status that net/http's client accepts and its server panics on. It closes the connection after an answer
// that declares a body and may have none.
func (u *upstream) send(req *http.Request, sent *sending) (*http.Response, error) {
	transport := u.base
	if bare := req.Method == http.MethodHead || req.Method == http.MethodGet && (req.Header["If-None-Match"] != nil || req.Header["If-Modified-Since"] != nil); bare {
		transport = u.bare
	}
	res, err := transport.RoundTrip(req)
	if err == nil && res.StatusCode < http.StatusContinue {
		_ = res.Body.Close() // the status is the news
		return nil, invalidStatus(res)
	}
	if err == nil && transport == u.base && overdue(res) {
		sent.hangUp()
	}
	return res, err
}

// overdue reports whether an answer declares a body and may have none. The upstream may still send it, and net/http would
// take it for the next answer on the connection.
func overdue(res *http.Response) bool {
	bodiless := res.StatusCode == http.StatusNoContent || res.StatusCode == http.StatusNotModified
	length := res.Header.Get("Content-Length")
	return bodiless && (length != "" && length != "0" || len(res.TransferEncoding) > 0)
}

// disguise keeps net/http from sending the request a second time on its own: it
// takes a request that carries one of these headers as safe to repeat when a
// kept-alive connection dies, although the upstream may have acted on it. Under
// a name that is not canonical it does not find them, and the upstream does,
// because names of headers have no case. Without GetBody it cannot rewind.
func disguise(req *http.Request) {
	req.GetBody = nil
	if values, ok := req.Header[canonicalKeyHeader]; ok {
		delete(req.Header, canonicalKeyHeader)
		req.Header[disguisedKeyHeader] = values
	}
	if values, ok := req.Header[canonicalKeyHeaderX]; ok {
		delete(req.Header, canonicalKeyHeaderX)
		req.Header[disguisedKeyHeaderX] = values
	}
}

// inHand copies a small body that has already arrived into memory: net/http writes such a
// body together with the header, but sends the header alone before a body of unknown type.
// The request gets its own copy, because a goroutine of net/http may read it after the
// answer.
func inHand(req *http.Request) (here bool, err error) {
	if _, seeks := req.Body.(io.Seeker); !seeks || req.ContentLength <= 0 || req.ContentLength > maxInHandBytes {
		return false, nil
	}
	body := make([]byte, req.ContentLength)
	if _, err := io.ReadFull(req.Body, body); err != nil {
		return false, err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	return true, nil
}

// failure explains why the upstream did not give a complete answer.
type failure struct {
	class string
	sent  bool // a byte of the request may have reached the upstream
	err   error
}

// newFailure judges an error. That no connection could be made says that nothing was sent, unless net/http had acted on one before,
// on which the upstream then said that it had not processed the request.
func newFailure(ctx context.Context, err error, sent, acted bool) *failure {
	f := &failure{class: failureNoAnswer, sent: sent, err: err}
	dial, dialing := errors.AsType[*net.OpError](err)
	timeout, ok := errors.AsType[net.Error](err)
	switch {
	case dialing && dial.Op == "dial" && !acted:
		f.class, f.sent = failureUnreachable, false
	case !sent:
		f.class = failureUnreachable
	case ctx.Err() != nil:
		f.class = failureCallerCancelled
	case ok && timeout.Timeout():
		f.class = failureTimeout
	}
	return f
}

// Error implements error.
func (f *failure) Error() string { return f.class + ": " + quietly(f.err) }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.err }

// meteredConn counts the bytes that were handed to the network, below TLS.
type meteredConn struct {
	net.Conn
	written atomic.Int64
}

// Write implements net.Conn.
func (c *meteredConn) Write(p []byte) (int, error) {
	c.written.Add(int64(len(p))) // before, so that no byte is on its way uncounted
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n - len(p)))
	return n, err
}

// CloseWrite lets half-closed upgrades work.
func (c *meteredConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// sending watches whether any byte of a request reached the network. It errs on
// the side of "sent": a request that was given an HTTP/2 connection counts so,
// because such a connection is shared and may write after its error came back.
//
// It also forbids net/http to send a request without a body again over HTTP/2,
// as that does when the peer resets the stream as refused or malformed, or goes
// away: a proxy says so of requests to which the server behind it gave no answer.
type sending struct {
	forbid func() // ends the request

	mu     sync.Mutex // guards the fields below; RoundTrip's goroutines share it
	conn   *meteredConn
	before int64
	moved  bool
	shared bool // the last connection speaks HTTP/2
	wrote  bool // the header went out, and the answer has not begun
	done   bool // the answer has begun
	seen   bool // an earlier connection may have shown the upstream the request
}

func (s *sending) wroteHeaders() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote = !s.done // over HTTP/2 the event of the answer may come first
}

// answered is for a handler that asks another server first, such as one that authenticates: what comes after an answer is not
// the same request again.
func (s *sending) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote, s.done = false, true
}

func (s *sending) gotConn(info httptrace.GotConnInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared && s.wrote {
		s.forbid()
	}
	s.noteWritten()
	s.seen = s.seen || s.shared && s.wrote
	conn := info.Conn
	s.shared, s.done = false, false
	if secure, ok := conn.(*tls.Conn); ok {
		s.shared = secure.ConnectionState().NegotiatedProtocol == "h2"
		conn = secure.NetConn()
	}
	metered, ok := conn.(*meteredConn)
	if !ok || s.shared {
		s.moved = true
		return
	}
	s.conn, s.before = metered, metered.written.Load()
}

// hangUp closes the connection that the request went out on, unless it is shared (HTTP/2): there frames part the answers.
func (s *sending) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil && !s.shared {
		_ = s.conn.Close() // nothing more is wanted from it
	}
}

// noteWritten remembers what the connection tried before has seen.
func (s *sending) noteWritten() {
	if s.conn != nil && s.conn.written.Load() != s.before {
		s.moved, s.seen = true, true
	}
}

// acted reports whether the upstream may have seen the request on a connection that was there. Unlike sent, it does not take an
// HTTP/2 connection for that before the header was written.
func (s *sending) acted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteWritten()
	return s.seen || s.shared && s.wrote
}

func (s *sending) sent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteWritten()
	return s.moved
}

// hold reads the beginning of an answer before it is passed on, so that one
// that breaks off early is a failure and not half an answer. What breaks off
// later is made unknown by [watchedBody].
func (u *upstream) hold(ctx context.Context, res *http.Response) error {
	if res.StatusCode == http.StatusSwitchingProtocols || res.Body == nil || res.Body == http.NoBody {
		return nil
	}
	watched := &watchedBody{ReadCloser: res.Body, ctx: ctx}
	res.Body = watched
	if semelhttp.Streams(res.Header.Get("Content-Type")) {
		return nil
	}
	size := int64(firstHeldBytes)
	if res.ContentLength >= 0 {
		size = min(res.ContentLength, size)
	}
	held := make([]byte, 0, size+1)
	for {
		n, err := watched.ReadCloser.Read(held[len(held):cap(held)])
		held = held[:len(held)+n]
		switch {
		case errors.Is(err, io.EOF):
			watched.held, watched.ended = held, true
			return nil
		case err != nil:
			_ = res.Body.Close() // the failure is the news
			return &failure{class: failureBrokenAnswer, sent: true, err: fmt.Errorf("%s%w", noteAnswerBroke, err)}
		case len(held) > maxHeldBytes:
			watched.held = held
			return nil
		case len(held) == cap(held):
			if watched.long, _ = u.long.Get().(*longBuffer); watched.long == nil {
				watched.long = new(longBuffer)
			}
			held, watched.done = append(watched.long[:0], held...), &u.long
		}
	}
}

// wholeBody returns the body of an answer that [hold] has read to its end, or nil.
func wholeBody(res *http.Response) []byte {
	if watched, ok := res.Body.(*watchedBody); ok && watched.ended && len(watched.held) <= maxHeldBytes {
		return watched.held
	}
	return nil
}

// watchedBody is the body of an answer to a claimed request. When it breaks off, the
// outcome is unknown, because the rest could have said anything.
type watchedBody struct {
	io.ReadCloser
	ctx   context.Context //nolint:containedctx // the request's, whose answer this is.
	held  []byte          // read before
	ended bool            // and that is all
	long  *longBuffer     // where held lies, unless it is short
	done  *sync.Pool      // of long
}

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	if len(b.held) > 0 {
		n := copy(p, b.held)
		if b.held = b.held[n:]; len(b.held) == 0 {
			b.held = nil // the rest may take as long as it likes
			if b.long != nil {
				b.done.Put(b.long)
				b.long = nil
			}
		}
		return n, nil
	}
	if b.ended {
		return 0, io.EOF
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		semelhttp.Dispose(b.ctx, semel.StateUnknown, noteAnswerBroke+quietly(err))
	}
	return n, err
}
