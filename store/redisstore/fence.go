package redisstore

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/semel-dev/semel"
)

const (
	// forgetLate says how long a key of a cluster outlives its record, so that a
	// fence drawn before that record was made is known to be late.
	forgetLate = time.Minute
	// staleDraw limits the age of a drawn fence. Their difference bounds how far
	// the clocks of the nodes may be apart.
	staleDraw = forgetLate / 2
	// maxDraws bounds how often one claim draws a fence.
	maxDraws = 100
	// drawTimeout bounds one draw, which many claims may share.
	drawTimeout = 5 * time.Second
)

var errSlow = errors.New("the clocks of the nodes differ by much, or this host hardly runs")

// draws gives the claims of this process fences from the one counter of a
// cluster. Those that ask while a draw is under way share the next one: each
// fence is drawn after its claim began, so a claim that begins when another
// has been won gets a greater one.
type draws struct {
	// take draws n fences above the floor and returns the first.
	take func(ctx context.Context, n int, floor semel.Fence) (semel.Fence, error)
	// background starts a goroutine that ends before the store is closed, or
	// returns an error when it is.
	background func(func()) error

	mu      sync.Mutex // guards the fields below
	next    *draw      // that is being joined; nil when no claim waits
	running bool
}

// draw is some fences drawn at once.
type draw struct {
	n     int
	floor semel.Fence
	done  chan struct{} // closed when the fields below are set
	first semel.Fence
	err   error
}

// draw returns a fence that is greater than all fences drawn before it was
// called, and than floor.
func (q *draws) draw(ctx context.Context, floor semel.Fence) (semel.Fence, error) {
	d, i, err := q.join(floor)
	if err != nil {
		return 0, err
	}
	select {
	case <-d.done:
		return d.first + semel.Fence(i), d.err //nolint:gosec // i is a small count.
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// join takes part in the next draw, as the i-th.
func (q *draws) join(floor semel.Fence) (d *draw, i int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.running {
		if err := q.background(q.drawAll); err != nil {
			return nil, 0, err
		}
		q.running = true
	}
	if q.next == nil {
		q.next = &draw{done: make(chan struct{})}
	}
	d, i = q.next, q.next.n
	d.n++
	d.floor = max(d.floor, floor)
	return d, i, nil
}

// drawAll draws until no claim waits.
func (q *draws) drawAll() {
	for {
		q.mu.Lock()
		d := q.next
		q.next = nil
		q.running = d != nil
		q.mu.Unlock()
		if d == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), drawTimeout)
		d.first, d.err = q.take(ctx, d.n, d.floor)
		cancel()
		close(d.done)
	}
}

// draw takes n fences above the floor from the counter and returns the first.
func (s *Store) draw(ctx context.Context, n int, floor semel.Fence) (semel.Fence, error) {
	first, err := s.runScript(ctx, s.scripts.draw, []string{s.fenceKey},
		[]string{strconv.Itoa(n), strconv.FormatUint(uint64(floor), 10)}).AsUint64()
	return semel.Fence(first), err
}
