package faulty

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// Life is closed when its process is killed. A nil Life never ends.
type Life <-chan struct{}

func (l Life) over() bool {
	select {
	case <-l:
		return true
	default:
		return false
	}
}

// Process serves a handler over loopback, HTTP/1.1 and HTTP/2 in the clear. It can be restarted and killed, and keeps
// its address.
type Process struct {
	URL string

	server *httptest.Server
	begin  func(Life) http.Handler

	mu      sync.Mutex // guards the fields below
	handler http.Handler
	end     chan struct{}
	running *sync.WaitGroup
}

// Serve starts a process. begin makes its handler at each start.
func Serve(begin func(Life) http.Handler) *Process { return serveBehind(nil, begin) }

// serveBehind is Serve with a listener in front of the server; front may be nil.
func serveBehind(front func(net.Listener) net.Listener, begin func(Life) http.Handler) *Process {
	p := &Process{begin: begin}
	p.start()
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(p.serve))
	p.server.Config.Protocols = &http.Protocols{}
	p.server.Config.Protocols.SetHTTP1(true)
	p.server.Config.Protocols.SetUnencryptedHTTP2(true)
	p.server.Config.ReadHeaderTimeout = time.Minute
	if front != nil {
		p.server.Listener = front(p.server.Listener)
	}
	p.server.Start()
	p.URL = p.server.URL
	return p
}

func (p *Process) start() {
	end := make(chan struct{})
	handler := p.begin(end)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handler, p.end, p.running = handler, end, &sync.WaitGroup{}
}

func (p *Process) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	handler, running := p.handler, p.running
	running.Add(1)
	p.mu.Unlock()
	defer running.Done()
	handler.ServeHTTP(w, r)
}

// Restart lets running requests finish, and starts again.
func (p *Process) Restart(context.Context) error {
	p.mu.Lock()
	running := p.running
	p.mu.Unlock()
	running.Wait()
	p.start()
	return nil
}

// Kill stops everything at once, cuts all connections, and starts again when no handler of the dead process can have an
// effect any more.
func (p *Process) Kill(context.Context) error {
	p.mu.Lock()
	close(p.end)
	running := p.running
	p.running = &sync.WaitGroup{}
	p.handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }) //nolint:forbidigo // net/http ends the request by it.
	p.mu.Unlock()
	p.server.CloseClientConnections()
	running.Wait()
	p.start()
	return nil
}

// Close waits for running requests, and stops.
func (p *Process) Close() { p.server.Close() }
