package sqlitetx

import (
	"context"
	"sync"
	"time"

	"github.com/semel-dev/semel"
)

// queue orders the callers of this process for the file's write lock, first
// come, first served: a waiter needs no connection and does not poll, as SQLite
// does.
type queue struct {
	seat chan struct{} // of length 1: full while a caller writes

	mu   sync.Mutex // guards keys
	keys map[semel.Digest]int
}

func newQueue() *queue {
	return &queue{seat: make(chan struct{}, 1), keys: make(map[semel.Digest]int)}
}

// enter takes the seat; leave follows. After wait it gives up with errTwin when
// a caller with the same digest is in the queue or has the seat, after most in
// any case.
func (q *queue) enter(ctx context.Context, d semel.Digest, wait, most time.Duration) error {
	q.count(d, 1)
	select {
	case q.seat <- struct{}{}:
		return nil
	default:
	}
	err := q.wait(ctx, d, wait, most)
	if err != nil {
		q.count(d, -1)
	}
	return err
}

func (q *queue) wait(ctx context.Context, d semel.Digest, wait, most time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for left := most - wait; ; left = 0 {
		select {
		case q.seat <- struct{}{}:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		}
		switch {
		case q.count(d, 0) > 1:
			return errTwin
		case left <= 0:
			return errQueue
		}
		timer.Reset(left)
	}
}

func (q *queue) leave(d semel.Digest) {
	q.count(d, -1)
	<-q.seat
}

// count adds n to the callers with the digest, and returns their number.
func (q *queue) count(d semel.Digest, n int) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.keys[d] += n
	now := q.keys[d]
	if now == 0 {
		delete(q.keys, d)
	}
	return now
}
