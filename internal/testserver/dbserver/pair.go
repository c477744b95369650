package dbserver

import (
	"context"
	"net"
	"sync"

	"github.com/Shopify/toxiproxy/v2/stream"
)

// listen accepts connections from now on.
func (p *Proxy) listen() error {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", p.Addr())
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.listener, p.addr = l, l.Addr().String()
	p.mu.Unlock()
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

// connect passes a client on to the server.
func (p *Proxy) connect(l net.Listener, client net.Conn) {
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.upstream)
	if err != nil {
		_ = client.Close() // the client sees why: nobody is there
		return
	}
	c := &pair{client: client, server: server}
	p.mu.Lock()
	if p.listener != l { // down meanwhile
		p.mu.Unlock()
		c.close()
		return
	}
	c.budget = p.budget
	p.pairs[c] = struct{}{}
	p.mu.Unlock()

	p.running.Add(2)
	var open sync.WaitGroup
	open.Add(2)
	name := client.RemoteAddr().String()
	p.toxics.StartLink(p.api, name+"upstream", client, &direction{pair: c, to: server, proxy: p, open: &open}, stream.Upstream)
	p.toxics.StartLink(p.api, name+"downstream", server, &direction{pair: c, to: client, proxy: p, open: &open, down: true}, stream.Downstream)
	open.Wait()
	p.mu.Lock()
	delete(p.pairs, c)
	p.mu.Unlock()
}

// pair is a client and its server.
type pair struct {
	client, server net.Conn

	mu     sync.Mutex // guards the field below
	budget int
}

func (c *pair) close() {
	_ = c.client.Close() // both may be closed already
	_ = c.server.Close()
}

func (c *pair) limit(bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.budget = bytes
}

// spend says how many of so many bytes may pass to the client.
func (c *pair) spend(bytes int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.budget == unlimited {
		return bytes
	}
	spent := min(bytes, c.budget)
	c.budget -= spent
	return spent
}

// direction is where one link ends. It takes whatever the link brings, even when nobody wants it any more.
type direction struct {
	pair  *pair
	to    net.Conn
	down  bool // towards the client
	proxy *Proxy
	open  *sync.WaitGroup
	once  sync.Once
}

// Write never fails: a pair that is broken is closed, and what comes is dropped.
func (d *direction) Write(b []byte) (int, error) {
	pass := len(b)
	if d.down {
		pass = d.pair.spend(pass)
	}
	_, err := d.to.Write(b[:pass])
	if err != nil || pass < len(b) {
		d.pair.close()
	}
	return len(b), nil
}

// Close is called once the link has run dry.
func (d *direction) Close() error {
	d.once.Do(func() {
		d.open.Done()
		d.proxy.running.Done()
	})
	return d.to.Close()
}
