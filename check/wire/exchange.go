package wire

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
)

const (
	// continueWait bounds the wait for "100 Continue".
	continueWait = time.Second
	// maxHeadBytes bounds the head of an answer, including interim answers.
	maxHeadBytes = 1 << 20
	// maxInterim bounds the interim answers.
	maxInterim = 16
)

// exchange is one request and its answer on one connection.
type exchange struct {
	conn net.Conn
	from *source
	in   *bufio.Reader // reads from
	r    *Request
	m    *Manner
	most int64 // of the answer's body
	// unsent is the head while it waits for the first piece of the body. Some services answer without reading the body,
	// and close: a body that arrives later is then unread in the kernel, resets the connection and may discard the
	// answer.
	unsent []byte
}

func newExchange(conn net.Conn, r *Request, m *Manner, most int64) *exchange {
	from := &source{Reader: conn, left: maxHeadBytes}
	return &exchange{conn: conn, from: from, in: bufio.NewReader(from), r: r, m: m, most: most}
}

// source bounds how much may be read, and remembers how reading ended: line readers forget the error if it occurs in
// the middle of a line.
type source struct {
	io.Reader

	left int64
	end  error
}

func (s *source) Read(p []byte) (int, error) {
	if s.left <= 0 {
		s.end = errLongHead
		return 0, s.end
	}
	n, err := s.Reader.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	s.end = err
	return n, err
}

// sendAndRead sends the request and reads the answer, as far as the manner allows. It may leave the connection open.
func (e *exchange) sendAndRead(ctx context.Context) (*Answer, error) {
	head := e.r.head(e.m)
	if e.m.Fault == CutInHead {
		return nil, e.abandon(e.write(head[:len(head)-2]))
	}
	if !e.m.Expect {
		e.unsent = head
	} else if refusal, err := e.announce(head); refusal != nil || err != nil { //nolint:bodyclose // its end is that of the connection.
		return e.finish(refusal, err)
	}
	if e.m.Fault == CutInBody || e.m.Fault == HangUp {
		return nil, e.abandon(e.writeBody(ctx))
	}
	return e.talk(ctx)
}

// abandon ends a fault after everything it sends.
func (*exchange) abandon(err error) error {
	if err != nil {
		return err
	}
	return ErrLost
}

// talk writes the body and reads the answer at the same time: a service may answer and close before it has read
// everything.
func (e *exchange) talk(ctx context.Context) (*Answer, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_ = e.writeBody(ctx) // an error shows in the answer, or in its absence
	}()
	answer, err := e.read()
	stop()
	_ = e.conn.Close()
	<-written
	if err == nil && (e.m.Fault == LoseAnswer || e.m.Fault == CutInAnswer) {
		return answer, ErrLost
	}
	return answer, err
}

func (e *exchange) write(b []byte) error {
	if _, err := e.conn.Write(b); err != nil {
		return fmt.Errorf("%w: %w", ErrCut, err)
	}
	return nil
}

// writeBody sends the unsent part of the request, as far as it goes.
func (e *exchange) writeBody(ctx context.Context) error {
	body := e.r.Body
	if e.m.Fault == CutInBody {
		body = body[:len(body)/2]
	}
	pieces := max(1, e.m.Pieces)
	size := max(1, (len(body)+pieces-1)/pieces)
	for len(body) > 0 || len(e.unsent) > 0 {
		piece := body[:min(size, len(body))]
		body = body[len(piece):]
		if e.m.Chunked && len(piece) > 0 {
			piece = fmt.Appendf(nil, "%x\r\n%s\r\n", len(piece), piece)
		}
		if err := e.write(slices.Concat(e.unsent, piece)); err != nil {
			return err
		}
		e.unsent = nil
		if len(body) > 0 && !waiting.Sleep(ctx, e.m.Pause) {
			return ctx.Err()
		}
	}
	if !e.m.Chunked || e.m.Fault == CutInBody {
		return nil
	}
	return e.write([]byte("0\r\n\r\n"))
}

// announce sends the head alone, and waits until the service asks for the body, or for continueWait. It returns a final
// answer instead.
func (e *exchange) announce(head []byte) (*http.Response, error) {
	if err := e.write(head); err != nil {
		return nil, err
	}
	_ = e.conn.SetReadDeadline(time.Now().Add(continueWait))
	_, _ = e.in.Peek(1)
	_ = e.conn.SetReadDeadline(time.Time{})
	if e.in.Buffered() == 0 { // sending the body shows what is wrong
		return nil, nil
	}
	response, err := e.readHead()
	if err != nil || response.StatusCode >= http.StatusOK {
		return response, err
	}
	return nil, nil
}

// read reads the answer, after interim ones.
func (e *exchange) read() (*Answer, error) {
	for range maxInterim {
		response, err := e.readHead() //nolint:bodyclose // its end is that of the connection.
		if err != nil || response.StatusCode >= http.StatusOK {
			return e.finish(response, err)
		}
	}
	return nil, fmt.Errorf("%w: %w", ErrNotHTTP, errInterim)
}

// tlsAlert is the first byte of a TLS service's answer to anything else.
const tlsAlert = 0x15

func (e *exchange) readHead() (*http.Response, error) {
	first, err := e.in.Peek(1)
	if err != nil {
		return nil, noAnswer(err)
	}
	if first[0] == tlsAlert {
		return nil, fmt.Errorf("%w: %w", ErrTLS, errPortIsTLS)
	}
	response, err := http.ReadResponse(e.in, &http.Request{Method: e.r.Method})
	switch {
	case err != nil && e.from.end != nil:
		return nil, noAnswer(e.from.end)
	case err != nil:
		return nil, noAnswer(err)
	case response.StatusCode == http.StatusSwitchingProtocols:
		return nil, fmt.Errorf("%w: %w", ErrNotHTTP, errSwitched)
	}
	return response, nil
}

// finish reads the body of an answer.
func (e *exchange) finish(response *http.Response, err error) (*Answer, error) {
	if err != nil {
		return nil, err
	}
	answer := &Answer{Proto: response.Proto, Status: response.StatusCode, Header: response.Header}
	defer func() {
		_ = e.conn.Close() // first, as closing the body would read it all
		_ = response.Body.Close()
	}()
	if e.m.Fault == CutInAnswer {
		answer.Cut = true
		return answer, nil
	}
	e.from.left = math.MaxInt64 // the body has its own bound
	answer.Body, err = io.ReadAll(io.LimitReader(response.Body, e.most+1))
	if int64(len(answer.Body)) > e.most {
		answer.Body, answer.Cut = answer.Body[:e.most], true
	}
	switch {
	case e.r.URL.Scheme == "http" && wrongScheme(answer): // often followed by a reset
		return answer, fmt.Errorf("%w: %w", ErrTLS, errPortIsTLS)
	case err != nil:
		answer.Cut = true
		return answer, fmt.Errorf("%w: %w", ErrCut, err)
	}
	return answer, nil
}

// isBroken reports whether the connection ended, as opposed to a bad answer.
func isBroken(err error) bool {
	_, broken := errors.AsType[net.Error](err)
	return broken || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}
