package pgstore

import (
	"sync"

	"github.com/semel-dev/semel"
)

// gate lets Close wait for the steps that were begun.
type gate struct {
	mu     sync.Mutex // guards the fields below
	closed bool
	inside int
	empty  chan struct{} // made by the first close, closed with the last leave
}

// enter lets a step begin; every success needs a leave.
func (g *gate) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return semel.ErrClosed
	}
	g.inside++
	return nil
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside--; g.inside == 0 && g.closed {
		close(g.empty)
	}
}

// close lets nobody in any more, and returns what is closed when all have
// left; first is false when somebody closed it before.
func (g *gate) close() (empty <-chan struct{}, first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return g.empty, false
	}
	g.closed, g.empty = true, make(chan struct{})
	if g.inside == 0 {
		close(g.empty)
	}
	return g.empty, true
}
