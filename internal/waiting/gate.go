package waiting

import (
	"context"
	"sync"
)

// Gate counts what runs and lets one wait until nothing does. Unlike a
// sync.WaitGroup it may be entered while another goroutine waits.
type Gate struct {
	mu    sync.Mutex // guards the fields below
	n     int
	empty chan struct{} // made by a waiter, closed when n falls to 0
}

// Enter counts one more.
func (g *Gate) Enter() {
	g.mu.Lock()
	g.n++
	g.mu.Unlock()
}

// Exit counts one less.
func (g *Gate) Exit() {
	g.mu.Lock()
	g.n--
	if g.n == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
	g.mu.Unlock()
}

// Wait returns when nothing runs, or with ctx's error.
func (g *Gate) Wait(ctx context.Context) error {
	g.mu.Lock()
	if g.n == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.empty == nil {
		g.empty = make(chan struct{})
	}
	empty := g.empty
	g.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
