package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// Held is a request whose end has not been sent. A service cannot start it, or at least not finish reading it, before
// [Held.Release]; so requests that are released together do race, however long they took to connect. It is for one
// goroutine at a time, and ends with Release or Close.
type Held struct {
	client *Client
	conn   net.Conn
	raw    net.Conn // the connection below conn
	rest   []byte
	answer *exchange
	// With HTTP/2, the connection is open and the request is sent as a whole.
	h2      *H2
	request *Request
}

// heldBody is the longest body, in bytes, that is held back as a whole, together with the end of the head: a service
// may act on the head alone. Of a longer one only the last byte is held back, since sending takes time.
const heldBody = 16 << 10

// Prepare connects, and sends the request except for its end. The context and the client's timeout bound Prepare, and
// nothing after it. The error is one of this package, wrapped; if the context ended, its error is returned unchanged.
func (c *Client) Prepare(ctx context.Context, r *Request) (*Held, error) {
	within, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	conn, raw, err := c.connect(within, r.URL)
	if err != nil {
		return nil, because(ctx, err)
	}
	if c.isH2(conn) {
		h, err := greet(within, conn)
		if err != nil {
			_ = conn.Close()
			return nil, because(ctx, fmt.Errorf("%w: %w", ErrCut, err))
		}
		return &Held{client: c, conn: conn, raw: raw, h2: h, request: r}, nil
	}
	whole := append(r.head(&Manner{}), r.Body...)
	early := len(whole) - 1
	if len(r.Body) <= heldBody {
		early -= len(r.Body)
	}
	stop := context.AfterFunc(within, func() { _ = raw.Close() })
	_, err = conn.Write(whole[:early])
	if !stop() || err != nil {
		_ = conn.Close()
		return nil, because(ctx, fmt.Errorf("%w: %w", ErrCut, errors.Join(err, within.Err())))
	}
	return &Held{
		client: c, conn: conn, raw: raw, rest: whole[early:],
		answer: newExchange(conn, r, &Manner{}, c.maxBody()),
	}, nil
}

// Release sends the end of the request, reads the answer, and closes the connection. The client's timeout bounds it
// from here on. Errors are those of [Client.Do].
func (h *Held) Release(ctx context.Context) (*Answer, error) {
	timeout := h.client.timeout()
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	broken := make(chan struct{})
	stop := context.AfterFunc(within, func() {
		_ = h.raw.Close()
		close(broken)
	})
	began := time.Now()
	if h.h2 != nil {
		answer, err := h.h2.Do(within, h.request)
		h.Close()
		if !stop() {
			<-broken
		}
		if err != nil && within.Err() != nil && ctx.Err() == nil {
			return answer, fmt.Errorf("%w (%s)", ErrTimeout, timeout)
		}
		return answer, because(ctx, err)
	}
	unsent := h.answer.write(h.rest)
	// A service may have answered and closed before it got everything.
	answer, err := h.answer.read()
	h.Close()
	if !stop() {
		<-broken
	}
	switch {
	case answer != nil:
		answer.Took = time.Since(began)
	case unsent != nil:
		err = unsent
	}
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return answer, fmt.Errorf("%w (%s)", ErrTimeout, timeout)
	}
	return answer, because(ctx, err)
}

// Close abandons the request: the connection is closed, and the service never gets its end. Closing again does nothing.
func (h *Held) Close() { _ = h.conn.Close() }
