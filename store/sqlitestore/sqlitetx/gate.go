package sqlitetx

import (
	"context"
	"sync"
	"time"

	"github.com/semel-dev/semel"
)

// gate is the queue of this process for the file's write lock, first come,
// first served: whoever waits in it needs no connection and does not ask again
// and again, as SQLite does.
type gate struct {
	seat chan struct{} // of length 1: full while somebody writes

	mu   sync.Mutex // guards keys
	keys map[semel.Digest]int
}

func newGate() *gate {
	return &gate{seat: make(chan struct{}, 1), keys: make(map[semel.Digest]int)}
}

// enter takes the seat; leave follows. After wait it gives up with errTwin when
// somebody with the same digest is in the queue or has the seat, after most in
// any case.
func (g *gate) enter(ctx context.Context, d semel.Digest, wait, most time.Duration) error {
	g.count(d, 1)
	select {
	case g.seat <- struct{}{}:
		return nil
	default:
	}
	err := g.queue(ctx, d, wait, most)
	if err != nil {
		g.count(d, -1)
	}
	return err
}

func (g *gate) queue(ctx context.Context, d semel.Digest, wait, most time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for left := most - wait; ; left = 0 {
		select {
		case g.seat <- struct{}{}:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		}
		switch {
		case g.count(d, 0) > 1:
			return errTwin
		case left <= 0:
			return errQueue
		}
		timer.Reset(left)
	}
}

func (g *gate) leave(d semel.Digest) {
	g.count(d, -1)
	<-g.seat
}

// count adds n to those with the digest, and returns how many there are.
func (g *gate) count(d semel.Digest, n int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.keys[d] += n
	now := g.keys[d]
	if now == 0 {
		delete(g.keys, d)
	}
	return now
}
