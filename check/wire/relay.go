package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// maxRelayed bounds the connections that a relay carries at once; more wait
	// to be accepted.
	maxRelayed = 256
	// relayPiece is the most that is passed on at once, in bytes.
	relayPiece = 32 << 10
)

// Fate is what becomes of one connection through a [Relay]. The zero value
// passes everything on.
type Fate struct {
	// Latency is waited before each piece is passed on, in either direction.
	Latency time.Duration
	// Slice is the most that is passed on at once, in bytes, so that with Latency
	// it limits the bandwidth. Zero means what has arrived.
	Slice int
	// Swallow, when set, is asked before each piece from the service is passed on.
	// From its first true on, nothing more is, and when the service has closed its
	// side the client's connection is reset. It must stay true. Over TLS it waits
	// for [Client.Connected]: a handshake needs answers. It is called concurrently.
	Swallow func() bool
	// ResetAfterSent and ResetAfterAnswered reset both sides when so many bytes
	// went to the service, or to the client. Zero means never.
	ResetAfterSent, ResetAfterAnswered int64
}

// Relay stands between clients and a service on this machine's loopback, and
// loses what it is told to lose, such as a proxy that dies. It moves bytes only,
// so that TLS passes through it. It is safe for concurrent use.
type Relay struct {
	listener net.Listener
	target   string
	fate     func(connection int) Fate
	stop     context.CancelFunc
	all      sync.WaitGroup
}

// OpenRelay starts a relay to the target, a host and port such as [Address]
// gives. fate is asked for each connection, counted from 0; nil passes all on.
// It ends with Close, or with the context, and then cuts what it carries.
func OpenRelay(ctx context.Context, target string, fate func(connection int) Fate) (*Relay, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open a relay: %w", err)
	}
	if fate == nil {
		fate = func(int) Fate { return Fate{} }
	}
	ctx, stop := context.WithCancel(ctx)
	r := &Relay{listener: listener, target: target, fate: fate, stop: stop}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	r.all.Go(func() { r.accept(ctx) })
	return r, nil
}

// Dial connects to the relay, whatever the address: it is for [Client.Dial].
func (r *Relay) Dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, r.listener.Addr().String())
}

// Close cuts what is carried, and returns when nothing of the relay runs.
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
	for n := 0; ; n++ {
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
			r.carry(ctx, client, r.fate(n))
		})
	}
}

// carry passes bytes both ways until both are done, one is broken, or the fate
// of the connection is fulfilled.
func (r *Relay) carry(ctx context.Context, client net.Conn, fate Fate) {
	service, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.target)
	if err != nil {
		reset(client)
		return
	}
	resetBoth := func() {
		reset(client)
		reset(service)
	}
	ctx, done := context.WithCancel(ctx)
	defer done()
	stop := context.AfterFunc(ctx, resetBoth)
	defer stop()
	var both sync.WaitGroup
	both.Go(func() {
		if !pass(ctx, service, client, &fate, fate.ResetAfterSent) {
			resetBoth()
		}
	})
	both.Go(func() {
		if !pass(ctx, throat{client, &fate}, service, &fate, fate.ResetAfterAnswered) || fate.swallows() {
			resetBoth()
		}
	})
	both.Wait()
	_ = client.Close()
	_ = service.Close()
}

func (f *Fate) swallows() bool { return f.Swallow != nil && f.Swallow() }

// throat passes on to a client what its fate does not swallow.
type throat struct {
	client net.Conn
	fate   *Fate
}

func (t throat) Write(b []byte) (int, error) {
	if t.fate.swallows() {
		return len(b), nil
	}
	return t.client.Write(b)
}

// CloseWrite tells the client of the end, unless that is to be reset.
func (t throat) CloseWrite() error {
	if !t.fate.swallows() {
		endOf(t.client)
	}
	return nil
}

// pass copies until the end, which it passes on, too. It reports whether it came
// so far: not when a side is broken, or when limit bytes were passed on.
func pass(ctx context.Context, to io.Writer, from net.Conn, fate *Fate, limit int64) bool {
	buffer := make([]byte, relayPiece)
	if fate.Slice > 0 {
		buffer = buffer[:min(fate.Slice, relayPiece)]
	}
	for passed := int64(0); limit <= 0 || passed < limit; {
		room := int64(len(buffer))
		if limit > 0 {
			room = min(room, limit-passed)
		}
		n, err := from.Read(buffer[:room])
		if n > 0 {
			if !pause(ctx, fate.Latency) {
				return false
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return false
			}
			passed += int64(n)
		}
		switch {
		case errors.Is(err, io.EOF):
			endOf(to)
			return true
		case err != nil:
			return false
		}
	}
	return false
}

// endOf tells a connection that nothing more will come.
func endOf(to io.Writer) {
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// reset closes a connection without a goodbye: the other side sees RST.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
