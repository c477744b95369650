package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/net/http2"
)

// greetingWait bounds the time in which a service has to prove that it speaks HTTP/2.
const greetingWait = 5 * time.Second

// H2 is one HTTP/2 connection, on which requests are sent as streams at once. Unlike http.Transport, it is bound to
// that connection and never sends a request twice. It is safe for concurrent use.
type H2 struct {
	conn *http2.ClientConn //nolint:staticcheck // that of net/http has no Ping, and so cannot tell whether the server speaks HTTP/2.
}

// OpenH2 connects to the service of a URL: over TLS with ALPN for https, and by prior knowledge (RFC 9113 §3.3) for
// http. It wraps ErrNoH2 if the service does not speak HTTP/2. It ignores proxies of the environment.
func OpenH2(ctx context.Context, to *url.URL, config *tls.Config) (*H2, error) {
	within, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	raw, err := (&net.Dialer{}).DialContext(within, "tcp", Address(to))
	if err != nil {
		return nil, because(ctx, fmt.Errorf("%w: %w", ErrUnreachable, err))
	}
	conn := raw
	if to.Scheme == "https" {
		secure, err := handshake(within, raw, to, config, http2.NextProtoTLS, "http/1.1")
		if err != nil {
			return nil, because(ctx, err)
		}
		if secure.ConnectionState().NegotiatedProtocol != http2.NextProtoTLS {
			_ = secure.Close()
			return nil, ErrNoH2
		}
		conn = secure
	}
	h, err := greet(within, conn)
	if err != nil {
		_ = raw.Close()
		return nil, because(ctx, err)
	}
	return h, nil
}

// greet opens HTTP/2 on a connection, and waits until the other side answers.
func greet(ctx context.Context, conn net.Conn) (*H2, error) {
	transport := &http2.Transport{AllowHTTP: true, DisableCompression: true} //nolint:staticcheck // see H2.
	h2, err := transport.NewClientConn(conn)                                 //nolint:staticcheck // see H2.
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoH2, err)
	}
	ctx, cancel := context.WithTimeout(ctx, greetingWait)
	defer cancel()
	if err := h2.Ping(ctx); err != nil {
		_ = h2.Close()
		return nil, fmt.Errorf("%w: %w", ErrNoH2, err)
	}
	return &H2{h2}, nil
}

// Do sends the request once, as its own stream, and reads the answer within DefaultTimeout, and its body up to
// DefaultMaxBody. Streams beyond the service's limit wait. Names of headers are sent in lower case, as HTTP/2 requires;
// Connection and Transfer-Encoding are left out, and values that HTTP/2 forbids are refused. Errors are those of
// [Client.Do].
func (h *H2) Do(ctx context.Context, r *Request) (*Answer, error) {
	within, cancel := context.WithTimeout(ctx, DefaultTimeout)
	defer cancel()
	began := time.Now()
	request, err := asHTTP2(within, r)
	if err != nil {
		return nil, err
	}
	response, err := h.conn.RoundTrip(request)
	if err != nil {
		return nil, endOfStream(ctx, within, err)
	}
	answer := &Answer{Proto: response.Proto, Status: response.StatusCode, Header: response.Header}
	answer.Body, err = io.ReadAll(io.LimitReader(response.Body, DefaultMaxBody+1))
	_ = response.Body.Close()
	answer.Took = time.Since(began)
	if len(answer.Body) > DefaultMaxBody {
		answer.Body, answer.Cut = answer.Body[:DefaultMaxBody], true
	}
	if err != nil {
		answer.Cut = true
		return answer, endOfStream(ctx, within, err)
	}
	return answer, nil
}

// asHTTP2 returns the request for the stream's library.
func asHTTP2(ctx context.Context, r *Request) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL.String(), bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	request.GetBody = nil // so that it cannot be sent again
	for _, f := range r.Header {
		request.Header.Add(f.Name, f.Value)
	}
	for _, name := range []string{"Host", "Connection", "Transfer-Encoding", "Content-Length"} {
		request.Header.Del(name)
	}
	if host := r.Value("Host"); host != "" {
		request.Host = host
	}
	if !r.Has("User-Agent") {
		request.Header.Set("User-Agent", "") // adds none
	}
	return request, nil
}

// endOfStream classifies the error that ended a stream.
func endOfStream(ctx, within context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case within.Err() != nil, errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w (%s)", ErrTimeout, DefaultTimeout)
	}
	return fmt.Errorf("%w: %w", ErrCut, err)
}

// Close closes the connection; running streams end with ErrCut.
func (h *H2) Close() error { return h.conn.Close() }
