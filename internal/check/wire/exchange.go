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
)

const (
	// continueWait is how long "100 Continue" is waited for.
	continueWait = time.Second
	// maxHeadBytes bounds the head of an answer, with those that come before it.
	maxHeadBytes = 1 << 20
	// maxInterim bounds the answers that only say "go on".
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
	// unsent is the head while it waits for the first piece of the body. Some
	// services answer without reading the body, and close: what then lies unread
	// in the kernel, because it came later, resets the connection and may take the
	// answer with it.
	unsent []byte
}

func newExchange(conn net.Conn, r *Request, m *Manner, most int64) *exchange {
	from := &source{Reader: conn, left: maxHeadBytes}
	return &exchange{conn: conn, from: from, in: bufio.NewReader(from), r: r, m: m, most: most}
}

// source bounds what may be read, and remembers how that ended: readers of lines
// forget it when it comes in the middle of one.
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

// run sends the request and reads the answer, as far as the manner lets it. It
// may leave the connection open.
func (e *exchange) run(ctx context.Context) (*Answer, error) {
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

// abandon is the end of a fault, once it wrote what it had to.
func (*exchange) abandon(err error) error {
	if err != nil {
		return err
	}
	return ErrLost
}

// talk writes the body and reads the answer at the same time: a service may
// answer, and close, before it has read everything.
func (e *exchange) talk(ctx context.Context) (*Answer, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_ = e.writeBody(ctx) // what went wrong shows in the answer, or in that there is none
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

// writeBody sends what of the request was not sent yet, as far as it goes.
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
		if len(body) > 0 && !Pause(ctx, e.m.Pause) {
			return ctx.Err()
		}
	}
	if !e.m.Chunked || e.m.Fault == CutInBody {
		return nil
	}
	return e.write([]byte("0\r\n\r\n"))
}

// Pause waits for d, and reports whether the context lasted as long.
func Pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// announce sends the head alone, and waits until the service says that the body
// may come, or for continueWait. A final answer instead is returned.
func (e *exchange) announce(head []byte) (*http.Response, error) {
	if err := e.write(head); err != nil {
		return nil, err
	}
	_ = e.conn.SetReadDeadline(time.Now().Add(continueWait))
	_, _ = e.in.Peek(1)
	_ = e.conn.SetReadDeadline(time.Time{})
	if e.in.Buffered() == 0 { // the body goes out, and shows what is wrong
		return nil, nil
	}
	response, err := e.readHead()
	if err != nil || response.StatusCode >= http.StatusOK {
		return response, err
	}
	return nil, nil
}

// read takes the answer, past those that only say "go on".
func (e *exchange) read() (*Answer, error) {
	for range maxInterim {
		response, err := e.readHead() //nolint:bodyclose // its end is that of the connection.
		if err != nil || response.StatusCode >= http.StatusOK {
			return e.finish(response, err)
		}
	}
	return nil, fmt.Errorf("%w: %w", ErrNotHTTP, errInterim)
}

// tlsAlert is the first byte of what a TLS service says to anything else.
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
		_ = e.conn.Close() // first, or closing the body would read it to its end
		_ = response.Body.Close()
	}()
	if e.m.Fault == CutInAnswer {
		answer.Cut = true
		return answer, nil
	}
	e.from.left = math.MaxInt64 // the body has a bound of its own
	answer.Body, err = io.ReadAll(io.LimitReader(response.Body, e.most+1))
	if int64(len(answer.Body)) > e.most {
		answer.Body, answer.Cut = answer.Body[:e.most], true
	}
	switch {
	case e.r.URL.Scheme == "http" && wrongScheme(answer): // often reset behind it
		return answer, fmt.Errorf("%w: %w", ErrTLS, errPortIsTLS)
	case err != nil:
		answer.Cut = true
		return answer, fmt.Errorf("%w: %w", ErrCut, err)
	}
	return answer, nil
}

// isBroken reports whether the connection ended, and not what came over it.
func isBroken(err error) bool {
	_, broken := errors.AsType[net.Error](err)
	return broken || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}
