package together

import (
	"errors"
	"slices"
	"sync"
	"time"
)

const (
	// Most bounds the calls of one transaction.
	Most = 32
	// Lanes bounds the transactions that are shared at a time.
	Lanes = 2
	// room bounds the calls that wait for a lane; the next ones go alone.
	room = 1024
	// aloneFor limits how long a text goes alone after it failed, waited or ran long.
	aloneFor = time.Second
	// maxTexts bounds how many of those are remembered.
	maxTexts = 512
)

// ErrAlone means that the call did not happen, and is to be made alone.
var ErrAlone = errors.New("not in a shared transaction")

// Queue holds the calls that wait to share a transaction. C is a call. Set the
// exported fields before the first call.
type Queue[C any] struct {
	// Go runs a lane in a goroutine that the store's Close waits for.
	Go func(lane func()) error
	// Transact makes one transaction. It takes its members by Next, as late as it
	// can, and answers each of them.
	Transact func()

	mu      sync.Mutex // guards the fields below
	waiting []*Member[C]
	lanes   int                  // at work
	alone   map[string]time.Time // texts that go alone, until when
}

// MayShare reports whether none of the texts is to go alone.
func (q *Queue[C]) MayShare(texts ...string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, text := range texts {
		until, ok := q.alone[text]
		if ok && time.Now().Before(until) {
			return false
		}
		delete(q.alone, text)
	}
	return true
}

// Separate has the texts go alone for a while.
func (q *Queue[C]) Separate(texts ...string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, text := range texts {
		if q.alone == nil || len(q.alone) >= maxTexts {
			q.alone = make(map[string]time.Time)
		}
		q.alone[text] = time.Now().Add(aloneFor)
	}
}

// Join waits for the answer to a call. After [ErrAlone] nothing happened, and
// after an error that wraps [semel.ErrRolledBack] neither: the context ended first.
func (q *Queue[C]) Join(m *Member[C]) error {
	if !q.enqueue(m) {
		return ErrAlone
	}
	select {
	case err := <-m.done:
		return m.orLate(err)
	case <-m.ctx.Done():
	}
	if q.withdraw(m) {
		return m.Late()
	}
	return m.orLate(<-m.done) // a transaction ends with the contexts of its members, or has a bound
}

// enqueue takes a place in the queue, and opens a lane where one is free.
func (q *Queue[C]) enqueue(m *Member[C]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= room {
		return false
	}
	if q.lanes < Lanes {
		if q.Go(q.drain) == nil {
			q.lanes++
		} else if q.lanes == 0 {
			return false
		}
	}
	q.waiting = append(q.waiting, m)
	return true
}

// withdraw takes a call out of the queue. It reports false when a transaction has it.
func (q *Queue[C]) withdraw(m *Member[C]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, m)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	return i >= 0
}

// drain makes transactions until the queue is empty.
func (q *Queue[C]) drain() {
	for q.more() {
		q.Transact()
	}
}

// more closes the lane when the queue is empty.
func (q *Queue[C]) more() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.lanes--
		return false
	}
	return true
}

// Next takes the calls of the next transaction from the queue.
func (q *Queue[C]) Next() []*Member[C] {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), Most)
	members := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return members
}

// Requeue puts calls back to the head of the queue, for the next transaction.
func (q *Queue[C]) Requeue(members []*Member[C]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(members, q.waiting...)
}

// Waiting counts the calls in the queue.
func (q *Queue[C]) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}
