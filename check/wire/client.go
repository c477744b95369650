package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Defaults of a [Client].
const (
	DefaultTimeout = 30 * time.Second
	DefaultMaxBody = 4 << 20

	continueWait = time.Second
)

// Client sends requests, each over a connection of its own. The zero value is
// complete. It is safe for concurrent use.
type Client struct {
	// TLS is used for https; nil for the machine's own authorities.
	TLS *tls.Config
	// Timeout bounds one exchange whose manner says nothing. Default
	// DefaultTimeout.
	Timeout time.Duration
	// MaxBody bounds what is read of an answer's body. Default DefaultMaxBody.
	MaxBody int64
	// Dial opens connections, such as through a [Relay]. Nil for the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Do sends the request once. The error is one of this package, wrapped; a
// context that ended is returned as it is.
func (c *Client) Do(ctx context.Context, r *Request, m *Manner) (*Answer, error) {
	if m == nil {
		m = &Manner{}
	}
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	if m.Timeout > 0 {
		timeout = m.Timeout
	}
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := time.Now()
	conn, err := c.connect(within, r.URL)
	if err != nil {
		return nil, because(ctx, err)
	}
	stop := context.AfterFunc(within, func() { _ = conn.Close() })
	defer func() {
		stop()
		_ = conn.Close()
	}()
	answer, err := c.exchange(conn, r, m)
	if answer != nil {
		answer.Took = time.Since(began)
	}
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return answer, fmt.Errorf("%w (%s)", ErrTimeout, timeout)
	}
	return answer, because(ctx, err)
}

// because prefers the end of the caller's context to what came of it.
func because(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (c *Client) connect(ctx context.Context, at *url.URL) (net.Conn, error) {
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	conn, err := dial(ctx, "tcp", Address(at))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if at.Scheme != "https" {
		return conn, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.TLS != nil {
		config = c.TLS.Clone()
	}
	if config.ServerName == "" {
		config.ServerName = at.Hostname()
	}
	config.NextProtos = []string{"http/1.1"}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%w: %w", ErrTLS, err)
	}
	return secure, nil
}

// Address is the host and port that a URL is reached at.
func Address(at *url.URL) string {
	port := at.Port()
	switch {
	case port != "":
	case at.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return net.JoinHostPort(at.Hostname(), port)
}

func (c *Client) exchange(conn net.Conn, r *Request, m *Manner) (*Answer, error) {
	in := bufio.NewReader(conn)
	if done, err := send(conn, in, r, m); done || err != nil {
		// A service may answer before it has read everything, and close.
		if !done {
			if answer, early := c.read(in, r, m); early == nil {
				return answer, nil
			}
		}
		return nil, err
	}
	if m.Fault == HangUp {
		return nil, ErrLost
	}
	answer, err := c.read(in, r, m)
	switch {
	case err != nil:
		return nil, err
	case m.Fault == LoseAnswer, m.Fault == CutInAnswer:
		return answer, ErrLost
	}
	return answer, nil
}

// send writes the request; done says that a fault ended it.
func send(conn net.Conn, in *bufio.Reader, r *Request, m *Manner) (done bool, err error) {
	head := r.head(m)
	if m.Fault == CutInHead {
		head = head[:len(head)-2]
	}
	if _, err := conn.Write(head); err != nil {
		return false, fmt.Errorf("%w: %w", ErrCut, err)
	}
	if m.Fault == CutInHead {
		return true, ErrLost
	}
	if m.Expect {
		awaitContinue(conn, in)
	}
	body := r.Body
	if m.Fault == CutInBody {
		body = body[:len(body)/2]
	}
	if err := writeBody(conn, body, m); err != nil {
		return false, fmt.Errorf("%w: %w", ErrCut, err)
	}
	if m.Fault == CutInBody {
		return true, ErrLost
	}
	return false, nil
}

// awaitContinue waits until the service says anything, or for a second.
func awaitContinue(conn net.Conn, in *bufio.Reader) {
	_ = conn.SetReadDeadline(time.Now().Add(continueWait))
	_, _ = in.Peek(1)
	_ = conn.SetReadDeadline(time.Time{})
}

func writeBody(w io.Writer, body []byte, m *Manner) error {
	pieces := max(1, m.Pieces)
	size := (len(body) + pieces - 1) / pieces
	for len(body) > 0 {
		piece := body[:min(max(1, size), len(body))]
		body = body[len(piece):]
		if m.Chunked {
			piece = []byte(strconv.FormatInt(int64(len(piece)), 16) + "\r\n" + string(piece) + "\r\n")
		}
		if _, err := w.Write(piece); err != nil {
			return err
		}
		if m.Pause > 0 && len(body) > 0 {
			<-time.After(m.Pause)
		}
	}
	if m.Chunked && m.Fault != CutInBody {
		_, err := io.WriteString(w, "0\r\n\r\n")
		return err
	}
	return nil
}

// read takes the answer, past those that only say "go on".
func (c *Client) read(in *bufio.Reader, r *Request, m *Manner) (*Answer, error) {
	for {
		response, err := http.ReadResponse(in, &http.Request{Method: r.Method})
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), isNet(err):
			return nil, fmt.Errorf("%w: %w", ErrCut, err)
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrNotHTTP, err)
		case response.StatusCode >= 100 && response.StatusCode < 200:
			continue
		}
		return c.readBody(response, m), nil
	}
}

func (c *Client) readBody(response *http.Response, m *Manner) *Answer {
	most := c.MaxBody
	if most <= 0 {
		most = DefaultMaxBody
	}
	answer := &Answer{Proto: response.Proto, Status: response.StatusCode, Header: response.Header}
	defer func() { _ = response.Body.Close() }()
	if m.Fault == CutInAnswer {
		answer.Cut = true
		return answer
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	answer.Body, answer.Cut = body, err != nil
	if int64(len(body)) > most {
		answer.Body, answer.Cut = body[:most], true
	}
	return answer
}

func isNet(err error) bool {
	var of net.Error
	return errors.As(err, &of) || errors.Is(err, net.ErrClosed)
}
