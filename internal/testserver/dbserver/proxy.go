package dbserver

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// unlimited is the budget of a connection that is not cut.
const unlimited = -1

// Proxy passes connections on to a server and breaks them. Its methods act at once, on existing connections and on new
// ones.
type Proxy struct {
	report   func(error)
	upstream string
	running  sync.WaitGroup // the goroutines of the proxy, and both directions of every connection

	mu       sync.Mutex // guards the fields below
	addr     string
	listener net.Listener // nil when down
	pairs    map[*pair]struct{}
	budget   int // bytes that a server may still send on each connection
	latency  time.Duration
	stalled  bool
	broken   int // connections
}

// OpenProxy listens on a free port and passes connections on to host:port. It gives report what goes wrong later.
func OpenProxy(upstream string, report func(error)) (*Proxy, error) {
	p := &Proxy{report: report, upstream: upstream, pairs: map[*pair]struct{}{}, budget: unlimited}
	var err error
	for range portTries { // without freePort: a process that is being started still holds a port that was just closed
		p.addr = address(firstPort + rand.N(lastPort-firstPort)) //nolint:gosec // not a secret.
		if err = p.listen(); err == nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("start a proxy: %w", err)
}

// listen accepts connections from now on.
func (p *Proxy) listen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		return nil
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", p.addr)
	if err != nil {
		return err
	}
	p.listener, p.addr = l, l.Addr().String()
	p.running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return // it was closed
			}
			p.running.Go(func() { p.connect(l, client) })
		}
	})
	return nil
}

// Addr is host:port for clients. It stays the same.
func (p *Proxy) Addr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.addr
}

// Broken counts the connections that the proxy has broken.
func (p *Proxy) Broken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken
}

// set changes the proxy and every connection.
func (p *Proxy) set(change func(), each func(*pair)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	for c := range p.pairs {
		each(c)
	}
}

// Cut breaks every connection. New ones are accepted.
func (p *Proxy) Cut() { p.set(func() {}, (*pair).cut) }

// Down breaks every connection and refuses new ones.
func (p *Proxy) Down() {
	p.set(func() {
		if p.listener != nil {
			_ = p.listener.Close() // which ends the accepting goroutine
			p.listener = nil
		}
	}, (*pair).cut)
}

// Up undoes Down.
func (p *Proxy) Up() {
	if err := p.listen(); err != nil {
		p.report(fmt.Errorf("start a proxy again: %w", err))
	}
}

// Latency delays what the server sends.
func (p *Proxy) Latency(d time.Duration) { p.set(func() { p.latency = d }, func(*pair) {}) }

// LoseReplies breaks a connection when the server answers: the request is executed, and its reply is lost.
func (p *Proxy) LoseReplies() { p.CutAfter(0) }

// CutAfter breaks a connection when the server sends more than so many bytes on it from now on; these arrive.
func (p *Proxy) CutAfter(bytes int) {
	p.set(func() { p.budget = bytes }, func(c *pair) { c.budget = bytes })
}

// Disturb breaks every connection, or loses replies or parts of them, at random, until end is called.
func (p *Proxy) Disturb() (end func()) {
	switch rand.IntN(3) { //nolint:gosec // not a secret.
	case 0:
		p.Cut()
	case 1:
		p.LoseReplies()
	default:
		p.CutAfter(1 + rand.IntN(400)) //nolint:gosec // not a secret.
	}
	return p.Clear
}

// Stall lets nothing through in either direction, and breaks no connection. What is sent meanwhile is lost, so
// connections break on Clear.
func (p *Proxy) Stall() { p.set(func() { p.stalled = true }, func(*pair) {}) }

// Clear undoes Latency, LoseReplies, CutAfter and Stall.
func (p *Proxy) Clear() {
	stalled := false
	p.set(func() { stalled, p.stalled, p.latency, p.budget = p.stalled, false, 0, unlimited }, func(c *pair) {
		if c.budget = unlimited; stalled {
			c.cut()
		}
	})
}

// Close breaks every connection and ends the proxy.
func (p *Proxy) Close() {
	p.Down()
	p.running.Wait()
}

// pair is a client and its server.
type pair struct {
	proxy          *Proxy
	client, server net.Conn
	budget         int           // guarded by the proxy
	closed         chan struct{} // closed once
	once           sync.Once
}

// cut breaks the connection; the proxy's mutex is held.
func (c *pair) cut() {
	c.proxy.broken++
	c.close()
}

func (c *pair) close() {
	c.once.Do(func() {
		close(c.closed)
		_ = c.client.Close()
		_ = c.server.Close()
	})
}

// connect passes a client on to the server until either ends.
func (p *Proxy) connect(l net.Listener, client net.Conn) {
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.upstream)
	if err != nil {
		_ = client.Close() // so the client sees that the server is gone
		return
	}
	c := &pair{proxy: p, client: client, server: server, closed: make(chan struct{})}
	p.mu.Lock()
	c.budget = p.budget
	p.pairs[c] = struct{}{}
	down := p.listener != l
	p.mu.Unlock()
	if down {
		c.close()
	}
	var both sync.WaitGroup
	both.Go(func() { c.carry(client, server, false) })
	c.carry(server, client, true)
	both.Wait()
	p.mu.Lock()
	delete(p.pairs, c)
	p.mu.Unlock()
}

// carry copies one direction until a side ends or the proxy cuts it. The server's bytes wait for the latency and spend
// the budget.
func (c *pair) carry(from, to net.Conn, down bool) {
	defer c.close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !c.pass(to, buf[:n], down) {
			return
		}
		if err != nil {
			return
		}
	}
}

// pass writes what may pass, and reports whether the connection goes on.
func (c *pair) pass(to net.Conn, b []byte, down bool) bool {
	p := c.proxy
	p.mu.Lock()
	latency := p.latency
	p.mu.Unlock()
	if down && latency > 0 {
		timer := time.NewTimer(latency)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.closed:
			return false
		}
	}
	p.mu.Lock()
	stalled, whole := p.stalled, true
	if down && !stalled && c.budget != unlimited {
		if whole = len(b) <= c.budget; !whole {
			p.broken++
		}
		b = b[:min(len(b), c.budget)]
		c.budget -= len(b)
	}
	p.mu.Unlock()
	if stalled {
		return true // it is lost
	}
	_, err := to.Write(b)
	return err == nil && whole
}
