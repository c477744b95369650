package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"golang.org/x/net/http2"
)

// Defaults of a [Client].
const (
	DefaultTimeout = 30 * time.Second
	DefaultMaxBody = 4 << 20
)

// Client sends requests, each over its own connection. The zero value is complete. It is safe for concurrent use. It
// ignores HTTP_PROXY and the like: a proxy might repeat a request that must be sent once.
type Client struct {
	// TLS is used for https; nil means the machine's own authorities.
	TLS *tls.Config
	// Timeout bounds the making of a connection, and separately the exchange over it unless the manner sets a limit.
	// Default DefaultTimeout.
	Timeout time.Duration
	// MaxBody bounds how much of an answer's body is read, in bytes. Default DefaultMaxBody.
	MaxBody int64
	// Dial opens connections, such as through a [Relay]. Nil means the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// HTTP2 speaks HTTP/2: for http by prior knowledge, for https by ALPN. Otherwise HTTP/2 is used only where a TLS
	// service refuses HTTP/1.1, and by [Client.LookUp].
	HTTP2 bool
	// Connected, when set, is called when a connection is established, including its handshake, and nothing has been
	// sent. It must return at once.
	Connected func()
}

// Do sends the request once. Its error is one of this package, wrapped, or the context's, if that ended. An answer
// returned with an error is the part that arrived. When Do returns, the connection is closed and nothing of it is
// running.
func (c *Client) Do(ctx context.Context, r *Request, m *Manner) (*Answer, error) {
	if m == nil {
		m = &Manner{}
	}
	began := time.Now()
	conn, raw, err := c.connect(ctx, r.URL)
	if err != nil {
		return nil, because(ctx, err)
	}
	timeout := c.timeout()
	if m.Timeout > 0 {
		timeout = m.Timeout
	}
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	broken := make(chan struct{})
	stop := context.AfterFunc(within, func() {
		_ = raw.Close()
		close(broken)
	})
	var answer *Answer
	if c.isH2(conn) {
		answer, err = c.stream(within, conn, r, m)
	} else {
		if c.Connected != nil {
			c.Connected()
		}
		answer, err = newExchange(conn, r, m, c.maxBody()).sendAndRead(within)
	}
	if m.Fault != None {
		_ = raw.Close() // a lost connection is not shut down
	}
	_ = conn.Close()
	if !stop() {
		<-broken
	}
	if answer != nil {
		answer.Took = time.Since(began)
	}
	if err != nil && !errors.Is(err, ErrLost) && within.Err() != nil && ctx.Err() == nil {
		return answer, fmt.Errorf("%w (%s)", ErrTimeout, timeout)
	}
	return answer, because(ctx, err)
}

// LookUp is Do for a request that has no effect: without an answer over HTTP/1.1, it is sent once more, over HTTP/2.
func (c *Client) LookUp(ctx context.Context, r *Request) (*Answer, error) {
	answer, err := c.Do(ctx, r, nil)
	if c.HTTP2 || !errors.Is(err, ErrCut) && !errors.Is(err, ErrNotHTTP) {
		return answer, err
	}
	again := *c
	again.HTTP2 = true
	if got, failure := again.Do(ctx, r, nil); failure == nil {
		return got, nil
	}
	return answer, err
}

func (c *Client) timeout() time.Duration {
	if c.Timeout <= 0 {
		return DefaultTimeout
	}
	return c.Timeout
}

func (c *Client) maxBody() int64 {
	if c.MaxBody <= 0 {
		return DefaultMaxBody
	}
	return c.MaxBody
}

// connect returns the connection, and the one below it: closing that ends everything at once.
func (c *Client) connect(ctx context.Context, to *url.URL) (conn, raw net.Conn, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	raw, err = dial(ctx, "tcp", Address(to))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if to.Scheme != "https" {
		return raw, raw, nil
	}
	protocol := "http/1.1"
	if c.HTTP2 {
		protocol = http2.NextProtoTLS
	}
	secure, err := handshake(ctx, raw, to, c.TLS, protocol)
	if err == nil {
		return secure, raw, nil
	}
	if c.HTTP2 || isCertificate(err) || ctx.Err() != nil {
		return nil, nil, err
	}
	if raw, failure := dial(ctx, "tcp", Address(to)); failure == nil { // nothing was sent
		if secure, failure = handshake(ctx, raw, to, c.TLS, http2.NextProtoTLS); failure == nil && isH2(secure) {
			return secure, raw, nil
		}
		_ = raw.Close()
	}
	return nil, nil, err
}

// isH2 reports whether the connection is for HTTP/2.
func (c *Client) isH2(conn net.Conn) bool {
	if secure, ok := conn.(*tls.Conn); ok {
		return isH2(secure)
	}
	return c.HTTP2
}

func isH2(conn *tls.Conn) bool {
	return conn.ConnectionState().NegotiatedProtocol == http2.NextProtoTLS
}

// handshake makes a TLS connection of raw, and closes raw if it cannot.
func handshake(ctx context.Context, raw net.Conn, to *url.URL, given *tls.Config, protocols ...string) (*tls.Conn, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if given != nil {
		config = given.Clone()
	}
	if config.ServerName == "" {
		config.ServerName = to.Hostname()
	}
	config.NextProtos = protocols
	secure := tls.Client(raw, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, noTLS(err)
	}
	return secure, nil
}

// Address returns the host and port of a URL.
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
