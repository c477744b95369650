package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/semel-dev/semel/internal/waiting"
)

// errUnsent reports a request that HTTP/2 cannot carry; nothing of it was sent.
var errUnsent = errors.New("HTTP/2 does not allow this value in a header, so it was not sent")

// stream sends the request over a new HTTP/2 connection. Faults happen at the corresponding places: what has no such
// place, like a head that is cut, closes the connection before anything is sent.
func (c *Client) stream(ctx context.Context, conn net.Conn, r *Request, m *Manner) (*Answer, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	h, err := greet(ctx, conn)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCut, err)
	}
	if c.Connected != nil {
		c.Connected()
	}
	if m.Fault == CutInHead {
		return nil, ErrLost
	}
	for _, f := range r.Header {
		if !httpguts.ValidHeaderFieldValue(f.Value) {
			return nil, errUnsent
		}
	}
	request, err := asHTTP2(ctx, r)
	if err != nil {
		return nil, err
	}
	if m.Chunked {
		request.ContentLength = -1
	}
	sent := make(chan struct{}, 1)
	tell := func() {
		select {
		case sent <- struct{}{}:
		default:
		}
	}
	switch {
	case len(r.Body) > 0:
		request.Body = io.NopCloser(newUpload(ctx, r.Body, m, tell))
	case m.Fault == CutInBody:
		tell()
	}
	if m.Fault == CutInBody || m.Fault == HangUp {
		traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { tell() }})
		return nil, h.abandon(request.WithContext(traced), sent, stop)
	}
	response, err := h.conn.RoundTrip(request) //nolint:bodyclose // the answer has it.
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCut, err)
	}
	answer := &Answer{Proto: response.Proto, Status: response.StatusCode, Header: response.Header}
	if m.Fault == CutInAnswer {
		answer.Cut = true
		return answer, ErrLost
	}
	answer.Body, err = io.ReadAll(io.LimitReader(response.Body, c.maxBody()+1))
	if int64(len(answer.Body)) > c.maxBody() {
		answer.Body, answer.Cut = answer.Body[:c.maxBody()], true
	}
	switch {
	case err != nil:
		answer.Cut = true
		return answer, fmt.Errorf("%w: %w", ErrCut, err)
	case m.Fault == LoseAnswer:
		return answer, ErrLost
	}
	return answer, nil
}

// abandon sends a request, and returns when the service has what was sent of it.
func (h *H2) abandon(request *http.Request, sent <-chan struct{}, stop func()) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if response, err := h.conn.RoundTrip(request); err == nil {
			_ = response.Body.Close()
		}
	}()
	select {
	case <-sent:
		_ = h.conn.Ping(request.Context()) // its answer follows everything that was sent
	case <-ended:
	}
	_ = h.conn.Close()
	stop()
	<-ended
	return ErrLost
}

// upload is a body that goes out as the manner says: in pieces, or up to its half.
type upload struct {
	ctx   context.Context //nolint:containedctx // the body's life is that of the request.
	rest  []byte
	size  int
	pause time.Duration
	cut   bool
	half  func() // called when the half is sent
	begun bool
}

func newUpload(ctx context.Context, body []byte, m *Manner, half func()) *upload {
	u := &upload{ctx: ctx, rest: body, pause: m.Pause, cut: m.Fault == CutInBody, half: half}
	if u.cut {
		u.rest = body[:len(body)/2]
	}
	pieces := max(1, m.Pieces)
	u.size = max(1, (len(u.rest)+pieces-1)/pieces)
	return u
}

// Read implements [io.Reader].
func (u *upload) Read(p []byte) (int, error) {
	if len(u.rest) == 0 {
		if !u.cut {
			return 0, io.EOF
		}
		u.half()
		<-u.ctx.Done()
		return 0, u.ctx.Err()
	}
	if u.begun && u.pause > 0 && !waiting.Sleep(u.ctx, u.pause) {
		return 0, u.ctx.Err()
	}
	n := copy(p, u.rest[:min(u.size, len(u.rest))])
	u.rest, u.begun = u.rest[n:], true
	return n, nil
}
