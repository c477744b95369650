package dbserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
)

// unlimited is the budget of a connection that nobody cuts.
const unlimited = -1

// Proxy stands between clients and a server and breaks what is between them. Its methods act at once, on the connections
// that exist and on those that come.
//
// It carries the bytes by toxiproxy's links, which delay and drop them. It accepts and cuts connections itself, because
// a link of toxiproxy that is cut while bytes are on their way leaves goroutines behind; ours always runs dry.
type Proxy struct {
	report   func(error)
	upstream string
	api      *toxiproxy.ApiServer
	toxics   *toxiproxy.ToxicCollection
	running  sync.WaitGroup // the goroutines of the proxy, and both directions of every connection

	control sync.Mutex // held by one method at a time; taken before mu
	stalled bool       // under control

	mu       sync.Mutex // guards the fields below
	addr     string
	listener net.Listener // nil when down
	pairs    map[*pair]struct{}
	budget   int // what a server may still send on each connection
}

// OpenProxy listens on a free port and passes connections on to host:port. What goes wrong later is told to report.
func OpenProxy(upstream string, report func(error)) (*Proxy, error) {
	api := &toxiproxy.ApiServer{Collection: toxiproxy.NewProxyCollection(), Metrics: toxiproxy.NewMetricsContainer(nil)}
	api.Logger = silent(api.Logger)
	p := &Proxy{
		report: report, upstream: upstream, addr: address(0), api: api, pairs: map[*pair]struct{}{}, budget: unlimited,
		toxics: toxiproxy.NewProxy(api, upstream, address(0), upstream).Toxics,
	}
	if err := p.listen(); err != nil {
		return nil, fmt.Errorf("start a proxy: %w", err)
	}
	return p, nil
}

// silent returns the zero value of the library's logger, which logs nothing.
func silent[Logger any](*Logger) *Logger { return new(Logger) }

// Addr is host:port for clients. It stays the same.
func (p *Proxy) Addr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.addr
}

// Cut breaks every connection. New ones are welcome.
func (p *Proxy) Cut() {
	p.control.Lock()
	defer p.control.Unlock()
	p.cut()
}

// Down breaks every connection and refuses new ones.
func (p *Proxy) Down() {
	p.control.Lock()
	defer p.control.Unlock()
	p.down()
}

// Up undoes Down.
func (p *Proxy) Up() {
	p.control.Lock()
	defer p.control.Unlock()
	p.up()
}

// Latency delays what the server sends.
func (p *Proxy) Latency(d time.Duration) {
	p.control.Lock()
	defer p.control.Unlock()
	p.add("latency", "downstream", map[string]any{"latency": d.Milliseconds()})
}

// LoseReplies breaks a connection when the server answers: what was asked is done, and whoever asked does not hear it.
func (p *Proxy) LoseReplies() { p.CutAfter(0) }

// CutAfter breaks a connection when the server sends more than so many bytes on it, from now on; these arrive.
func (p *Proxy) CutAfter(bytes int) {
	p.control.Lock()
	defer p.control.Unlock()
	p.limit(bytes)
}

// Stall lets nothing through in either direction, and breaks no connection. What is sent meanwhile is lost, so
// connections break on Clear.
func (p *Proxy) Stall() {
	p.control.Lock()
	defer p.control.Unlock()
	p.stalled = true
	p.add("timeout", "upstream", nil)
	p.add("timeout", "downstream", nil)
}

// Clear undoes Latency, LoseReplies, CutAfter and Stall.
func (p *Proxy) Clear() {
	p.control.Lock()
	defer p.control.Unlock()
	p.clear()
}

// Close breaks every connection and ends the proxy.
func (p *Proxy) Close() {
	p.control.Lock()
	defer p.control.Unlock()
	p.down()
	p.clear()
	p.running.Wait()
}

func (p *Proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for pair := range p.pairs {
		pair.close()
	}
}

func (p *Proxy) isUp() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listener != nil
}

func (p *Proxy) up() {
	if p.isUp() {
		return
	}
	if err := p.listen(); err != nil {
		p.report(fmt.Errorf("start a proxy again: %w", err))
	}
}

func (p *Proxy) down() {
	p.mu.Lock()
	if p.listener != nil {
		_ = p.listener.Close() // whoever accepts ends
		p.listener = nil
	}
	p.mu.Unlock()
	p.cut()
}

func (p *Proxy) clear() {
	p.limit(unlimited)
	up := p.isUp()
	if p.stalled { // a stall that is taken out of a link that lives leaves goroutines behind
		p.down()
		p.running.Wait()
		p.stalled = false
	}
	p.toxics.ResetToxics(context.Background())
	if up {
		p.up()
	}
}

func (p *Proxy) limit(bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.budget = bytes
	for pair := range p.pairs {
		pair.limit(bytes)
	}
}

func (p *Proxy) add(kind, stream string, attributes map[string]any) {
	toxic, err := json.Marshal(map[string]any{"type": kind, "stream": stream, "attributes": attributes})
	if err == nil {
		_, err = p.toxics.AddToxicJson(strings.NewReader(string(toxic)))
	}
	if err != nil {
		p.report(fmt.Errorf("proxy: %s: %w", kind, err))
	}
}
