package chromium

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// recordTypeHandshake is the first byte of TLS (RFC 8446, section 5.1).
const recordTypeHandshake = 22

// Crossing judges what passes the relay.
type Crossing interface {
	// Leaves is asked for each request before it goes to the network: false stops it. returns, unless nil, is called with the answer,
	// which the browser gets when it returns true, and never otherwise. Without an answer it is called with nil. Such a request goes on
	// when the browser gives up.
	Leaves(req *http.Request, host string) (returns func(*http.Response) bool, ok bool)
}

// Relay is the proxy through which the browser reaches the network. Of an answer that is held or lost here the browser has seen nothing: no
// header, no cookie. It ends TLS itself, with a certificate that only this browser accepts, and verifies the servers in the browser's place.
type Relay struct {
	server    *http.Server
	tls       *http.Server
	tunneled  *handed // connections with TLS
	plain     *handed // and those without, of ws://
	key       *ecdsa.PrivateKey
	listener  net.Listener
	transport *http.Transport
	serving   sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	certs    map[string]*tls.Certificate
	crossing Crossing // whose requests these are; nil between two
	// broken is why the network did not answer last.
	broken error
}

// NewRelay starts a relay on a free port of this machine. Without a config it trusts the authorities of the machine; proxy, which may be nil, is
// the one of [http.Transport].
func NewRelay(config *tls.Config, proxy func(*http.Request) (*url.URL, error)) (*Relay, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // at once.
	if err != nil {
		return nil, err
	}
	r := &Relay{
		key: key, listener: listener, transport: &http.Transport{Proxy: proxy, TLSClientConfig: config, ForceAttemptHTTP2: true, DisableCompression: true},
		certs: map[string]*tls.Certificate{}, tunneled: newHanded(listener.Addr()), plain: newHanded(listener.Addr()),
	}
	forward := &httputil.ReverseProxy{
		Transport: r.transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(p *httputil.ProxyRequest) {
			if p.Out.URL.Host == "" { // inside of a tunnel
				p.Out.URL.Scheme, p.Out.URL.Host = "http", p.In.Host
			}
			if p.In.TLS != nil {
				p.Out.URL.Scheme = "https"
			}
		},
		ModifyResponse: r.answered,
		ErrorHandler: func(_ http.ResponseWriter, req *http.Request, err error) {
			if returns, ok := req.Context().Value(returnsKey{}).(func(*http.Response) bool); ok {
				returns(nil)
			}
			if !errors.Is(err, context.Canceled) { // the browser gave up
				r.mu.Lock()
				r.broken = err
				r.mu.Unlock()
			}
			panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's word for an answer that is cut, as without the relay.
		},
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodConnect {
			r.tunnel(w)
			return
		}
		r.pass(w, req, forward)
	})
	r.server = &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	r.tls = &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0), TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: r.certificate, NextProtos: []string{"http/1.1"}}}
	r.serving.Go(func() { _ = r.server.Serve(listener) })
	r.serving.Go(func() { _ = r.server.Serve(r.plain) })
	r.serving.Go(func() { _ = r.tls.ServeTLS(r.tunneled, "", "") })
	return r, nil
}

// Close ends the relay with all its connections.
func (r *Relay) Close() error {
	err := errors.Join(r.server.Close(), r.tls.Close())
	r.serving.Wait()
	r.transport.CloseIdleConnections()
	return err
}

// Flags returns the flags with which the browser uses the relay.
func (r *Relay) Flags() ([]string, error) {
	public, err := x509.MarshalPKIXPublicKey(&r.key.PublicKey)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(public)
	return []string{
		"--proxy-server=http://" + r.listener.Addr().String(), "--proxy-bypass-list=<-loopback>",
		"--ignore-certificate-errors-spki-list=" + base64.StdEncoding.EncodeToString(digest[:]),
	}, nil
}

// Play gives the requests from now on to a crossing; nil stops all.
func (r *Relay) Play(c Crossing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.crossing, r.broken = c, nil
}

// Why returns why the network did not answer last, or nil.
func (r *Relay) Why() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
}

// returnsKey finds what waits for an answer in the context of its request.
type returnsKey struct{}

func (r *Relay) pass(w http.ResponseWriter, req *http.Request, forward http.Handler) {
	r.mu.Lock()
	crossing := r.crossing
	r.mu.Unlock()
	if crossing == nil {
		http.Error(w, "nothing is under way", http.StatusServiceUnavailable)
		return
	}
	host := req.URL.Host
	if host == "" {
		host = req.Host
	}
	returns, ok := crossing.Leaves(req, host) //nolint:bodyclose // it returns no answer.
	if !ok {
		http.Error(w, "stopped by semel", http.StatusForbidden)
		return
	}
	if returns != nil { // the server hears of it, even if the browser gives up
		req = req.WithContext(context.WithValue(context.WithoutCancel(req.Context()), returnsKey{}, returns))
	}
	forward.ServeHTTP(w, req)
}

// answered is called when the head of an answer is here. It waits while the answer is held, and fails if it is to be lost.
func (r *Relay) answered(answer *http.Response) error {
	returns, ok := answer.Request.Context().Value(returnsKey{}).(func(*http.Response) bool)
	if !ok || returns(answer) {
		return nil
	}
	panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's word to cut the connection.
}

// tunnel takes over a connection. Browsers also open one for ws://, without TLS.
func (r *Relay) tunnel(w http.ResponseWriter) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	var first []byte
	if _, err = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"); err == nil {
		first, err = buffered.Peek(1)
	}
	switch {
	case err != nil:
		_ = conn.Close()
	case first[0] == recordTypeHandshake:
		r.tunneled.hand(&read{conn, buffered.Reader})
	default:
		r.plain.hand(&read{conn, buffered.Reader})
	}
}

// certificate makes a certificate for a name, once.
func (r *Relay) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := hello.ServerName
	if had := r.certs[name]; had != nil {
		return had, nil
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, err
	}
	leaf := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "semel"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if name != "" {
		leaf.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, &r.key.PublicKey, r.key)
	if err != nil {
		return nil, fmt.Errorf("a certificate: %w", err)
	}
	r.certs[name] = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: r.key}
	return r.certs[name], nil
}

// read is a connection whose first bytes were read already.
type read struct {
	net.Conn

	from *bufio.Reader
}

func (c *read) Read(p []byte) (int, error) { return c.from.Read(p) }

// handed is a listener of connections that another server took.
type handed struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
	addr  net.Addr
}

func newHanded(addr net.Addr) *handed {
	return &handed{conns: make(chan net.Conn), done: make(chan struct{}), addr: addr}
}

func (h *handed) hand(conn net.Conn) {
	select {
	case h.conns <- conn:
	case <-h.done:
		_ = conn.Close()
	}
}

func (h *handed) Accept() (net.Conn, error) {
	select {
	case conn := <-h.conns:
		return conn, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

func (h *handed) Close() error {
	h.once.Do(func() { close(h.done) })
	return nil
}

func (h *handed) Addr() net.Addr { return h.addr }
