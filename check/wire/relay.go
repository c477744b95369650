package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// maxRelayed bounds the connections that a relay carries at once; more wait to be accepted.
const maxRelayed = 256

// Relay is a loopback proxy between clients and a service that loses answers on demand, like a dying proxy. It only
// moves bytes, so TLS passes through it. It is safe for concurrent use.
type Relay struct {
	listener net.Listener
	target   string
	swallow  func() bool
	stop     context.CancelFunc
	all      sync.WaitGroup
}

// OpenRelay starts a relay to the target, a host and port as returned by [Address]. It calls swallow before it forwards
// a piece from the service. From the first true on, which must be final, nothing more is forwarded, and when the
// service has closed its side, the client's connection is reset. Over TLS, swallow has to wait for [Client.Connected],
// as a handshake needs answers. It is called concurrently; nil forwards everything. The relay ends with Close, or with
// the context, and then cuts its connections.
func OpenRelay(ctx context.Context, target string, swallow func() bool) (*Relay, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open a relay: %w", err)
	}
	if swallow == nil {
		swallow = func() bool { return false }
	}
	ctx, stop := context.WithCancel(ctx)
	r := &Relay{listener: listener, target: target, swallow: swallow, stop: stop}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	r.all.Go(func() { r.accept(ctx) })
	return r, nil
}

// Dial connects to the relay, whatever the address: it is for [Client.Dial].
func (r *Relay) Dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, r.listener.Addr().String())
}

// Close cuts all connections, and returns when nothing of the relay is running.
func (r *Relay) Close() error {
	r.stop()
	err := r.listener.Close()
	r.all.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (r *Relay) accept(ctx context.Context) {
	places := make(chan struct{}, maxRelayed)
	for {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.all.Go(func() {
			defer func() { <-places }()
			r.carry(ctx, client)
		})
	}
}

// carry forwards bytes both ways until both are done, or one is broken.
func (r *Relay) carry(ctx context.Context, client net.Conn) {
	service, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.target)
	if err != nil {
		reset(client)
		return
	}
	resetBoth := func() {
		reset(client)
		reset(service)
	}
	stop := context.AfterFunc(ctx, resetBoth)
	defer stop()
	var both sync.WaitGroup
	both.Go(func() {
		if !pass(service, client) {
			resetBoth()
		}
	})
	both.Go(func() {
		if !pass(throat{client, r.swallow}, service) || r.swallow() {
			resetBoth()
		}
	})
	both.Wait()
	_ = client.Close()
	_ = service.Close()
}

// throat forwards to a client what is not swallowed.
type throat struct {
	client  net.Conn
	swallow func() bool
}

func (t throat) Write(b []byte) (int, error) {
	if t.swallow() {
		return len(b), nil
	}
	return t.client.Write(b)
}

// CloseWrite signals the end to the client, unless its connection is to be reset.
func (t throat) CloseWrite() error {
	if !t.swallow() {
		endOf(t.client)
	}
	return nil
}

// pass copies everything and then signals the end; it reports whether it succeeded.
func pass(to io.Writer, from net.Conn) bool {
	if _, err := io.Copy(to, from); err != nil {
		return false
	}
	endOf(to)
	return true
}

// endOf signals to a connection that nothing more will come.
func endOf(to io.Writer) {
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// reset closes a connection with RST.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
