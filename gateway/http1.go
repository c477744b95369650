package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	http1BufferBytes = 8 << 10
	// lookPause lies between two looks at the connections that no request uses.
	lookPause = 5 * time.Second
)

// http1 sends requests to an application that speaks HTTP/1.1 without TLS. A request leaves in one write and its answer is read by
// the same goroutine, so it is known whether a byte was sent, and nothing is sent twice unless it changes nothing. net/http writes
// and reads the messages. What is not for it goes through net/http's transport: see [http1.takes].
type http1 struct {
	host, address string
	dial          func(ctx context.Context, network, address string) (net.Conn, error)
	answerTimeout time.Duration // 0 for none
	idleTimeout   time.Duration // 0 for none
	requests      sync.Pool     // of *bytes.Buffer

	mu    sync.Mutex   // guards the fields below
	idle  []*http1Conn // the one used last is the last
	watch *time.Timer  // looks at idle; nil while there is none
}

// http1Conn is a connection to the application. One request uses it at a time.
type http1Conn struct {
	net.Conn
	raw    syscall.RawConn
	reader *bufio.Reader
	left   int64 // bytes that an answer's header may still have
	heard  bool  // a byte of the answer has come
	used   bool  // for a request before
	since  time.Time
}

var errAnswerHeader = errors.New("the header of the answer is too long")

// takes reports whether a request is for this way: to the application, and with a body, if any, that is in memory.
func (h *http1) takes(req *http.Request, inHand bool) bool {
	if h == nil || req.URL.Scheme != "http" || req.URL.Host != h.host || req.Method == http.MethodConnect || req.Method == http.MethodHead {
		return false
	}
	if !inHand && req.Body != nil && req.Body != http.NoBody || len(req.TransferEncoding) > 0 || len(req.Trailer) > 0 {
		return false
	}
	for _, name := range []string{"Upgrade", "Expect", "If-None-Match", "If-Modified-Since"} {
		if _, there := req.Header[name]; there {
			return false
		}
	}
	for _, values := range req.Header {
		for _, value := range values {
			if strings.ContainsFunc(value, isControl) { // net/http has a word for it
				return false
			}
		}
	}
	return true
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7F }

// roundTrip returns the answer; its body ends the use of the connection. Only a request that may be repeated goes out a second time
// after a connection that was in use before took it and closed. sent reports whether a byte may have arrived, and acted whether
// one may have on another connection than that of the error.
func (h *http1) roundTrip(req *http.Request, repeatable bool) (res *http.Response, sent, acted bool, err error) {
	out, _ := h.requests.Get().(*bytes.Buffer)
	if out == nil {
		out = new(bytes.Buffer)
	}
	defer func() {
		if out.Reset(); out.Cap() <= maxHeldBytes {
			h.requests.Put(out)
		}
	}()
	if err := req.Write(out); err != nil {
		return nil, false, false, err
	}
	for {
		c, err := h.take(req.Context())
		if err != nil {
			return nil, sent, sent, err
		}
		res, written, err := h.exchange(c, req, out.Bytes())
		if err == nil {
			return res, true, sent, nil
		}
		_ = c.Close()
		again := c.used && req.Context().Err() == nil && (!written || repeatable && !c.heard && closed(err))
		if !again {
			return nil, sent || written, sent, err
		}
		sent = sent || written
	}
}

// closed reports whether the other end has closed the connection.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// exchange sends a request and reads the beginning of its answer. The caller closes the connection after an error.
func (h *http1) exchange(c *http1Conn, req *http.Request, out []byte) (res *http.Response, written bool, err error) {
	ctx := req.Context()
	stop := func() bool { return true }
	if ctx.Done() != nil {
		stop = context.AfterFunc(ctx, c.interrupt)
	}
	c.heard, c.left = false, maxAnswerHeaderBytes
	n, err := 0, h.bound(ctx, c, time.Now().Add(h.answerTimeout))
	if err == nil {
		n, err = c.Write(out)
	}
	if err == nil {
		res, err = c.answer(req)
	}
	if err == nil {
		err = h.bound(ctx, c, time.Time{})
	}
	if err != nil {
		stop()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, n > 0, err
	}
	body := &http1Body{ReadCloser: res.Body, from: h, conn: c, ctx: ctx, stop: stop}
	body.reusable = !res.Close && !req.Close && res.StatusCode != http.StatusSwitchingProtocols && !overdue(res)
	if res.Body == http.NoBody {
		body.end(true)
	} else {
		res.Body = body
	}
	return res, true, nil
}

// bound sets a deadline for writing and reading, or removes it. It returns the error of a context that ended before, whose deadline
// it may have moved.
func (h *http1) bound(ctx context.Context, c *http1Conn, deadline time.Time) error {
	if h.answerTimeout > 0 {
		if err := c.SetDeadline(deadline); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// interrupt ends what waits for the connection.
func (c *http1Conn) interrupt() { _ = c.SetDeadline(time.Unix(1, 0)) }

// answer reads the header of the answer. Informational answers before it go to the trace of the request.
func (c *http1Conn) answer(req *http.Request) (*http.Response, error) {
	trace := httptrace.ContextClientTrace(req.Context())
	for {
		res, err := http.ReadResponse(c.reader, req)
		switch {
		case err != nil && !c.heard && errors.Is(err, io.ErrUnexpectedEOF):
			return nil, io.EOF
		case err != nil:
			return nil, err
		case res.StatusCode < 100 || res.StatusCode > 199 || res.StatusCode == http.StatusSwitchingProtocols:
			c.left = math.MaxInt64
			return res, nil
		case trace != nil && trace.Got1xxResponse != nil:
			if err := trace.Got1xxResponse(res.StatusCode, textproto.MIMEHeader(res.Header)); err != nil {
				return nil, err
			}
			c.left = maxAnswerHeaderBytes
		}
	}
}

// Read implements io.Reader for the buffer.
func (c *http1Conn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errAnswerHeader
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	c.heard = c.heard || n > 0
	return n, err
}

// take returns a connection that is free, or a new one.
func (h *http1) take(ctx context.Context) (*http1Conn, error) {
	for c := h.pop(); c != nil; c = h.pop() {
		if c.fresh(h.idleTimeout) {
			return c, nil
		}
		_ = c.Close()
	}
	conn, err := h.dial(ctx, "tcp", h.address)
	if err != nil {
		return nil, err
	}
	c := &http1Conn{Conn: conn}
	c.reader = bufio.NewReaderSize(c, http1BufferBytes)
	if socket, ok := conn.(syscall.Conn); ok {
		c.raw, _ = socket.SyscallConn() // its error is that of a connection that is closed
	}
	return c, nil
}

func (h *http1) pop() *http1Conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.idle) == 0 {
		return nil
	}
	c := h.idle[len(h.idle)-1]
	h.idle[len(h.idle)-1] = nil
	h.idle = h.idle[:len(h.idle)-1]
	return c
}

// fresh reports whether a connection that was not in use is as it was left.
func (c *http1Conn) fresh(idleTimeout time.Duration) bool {
	return (idleTimeout <= 0 || time.Since(c.since) < idleTimeout) && quiet(c.raw)
}

// give lets another request use the connection.
func (h *http1) give(c *http1Conn) {
	c.used, c.since = true, time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.idle) >= maxIdleConns {
		_ = c.Close()
		return
	}
	h.idle = append(h.idle, c)
	if h.watch == nil {
		h.watch = time.AfterFunc(h.pause(), h.look)
	}
}

// look closes the idle connections that the application has closed, or that were not in use for too long.
func (h *http1) look() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.idle = slices.DeleteFunc(h.idle, func(c *http1Conn) bool {
		if c.fresh(h.idleTimeout) {
			return false
		}
		_ = c.Close()
		return true
	})
	if h.watch = nil; len(h.idle) > 0 {
		h.watch = time.AfterFunc(h.pause(), h.look)
	}
}

func (h *http1) pause() time.Duration {
	if h.idleTimeout > 0 {
		return min(lookPause, h.idleTimeout)
	}
	return lookPause
}

// closeIdle closes the connections that no request uses.
func (h *http1) closeIdle() {
	if h == nil {
		return
	}
	for c := h.pop(); c != nil; c = h.pop() {
		_ = c.Close()
	}
}

// http1Body is the body of an answer. At its end another request may use the connection.
type http1Body struct {
	io.ReadCloser
	from     *http1
	conn     *http1Conn
	ctx      context.Context //nolint:containedctx // the request's, whose answer this is.
	stop     func() bool     // ends the waiting for the end of ctx
	reusable bool

	mu    sync.Mutex // guards the field below: a body may be closed while it is read
	ended bool
}

// Read implements io.Reader.
func (b *http1Body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		b.end(true)
	case err != nil:
		b.end(false)
		if b.ctx.Err() != nil {
			err = context.Cause(b.ctx)
		}
	}
	return n, err
}

// Close implements io.Closer. What was not read is not waited for.
func (b *http1Body) Close() error {
	b.end(false)
	return nil
}

// end gives the connection back if all of the answer was read, and closes it otherwise.
func (b *http1Body) end(whole bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return
	}
	b.ended = true
	if undisturbed := b.stop(); whole && undisturbed && b.reusable && b.conn.reader.Buffered() == 0 {
		b.from.give(b.conn)
		return
	}
	_ = b.conn.Close()
}
