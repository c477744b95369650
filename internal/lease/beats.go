package lease

import (
	"container/heap"
	"sync"
	"time"
)

// Beats calls many clocks at their times, by one timer. The zero value is ready.
type Beats struct {
	mu    sync.Mutex // guards all, and the beats in it
	next  queue
	timer *time.Timer
	rings time.Time // when the timer will; zero when it is not set
}

// beat is the place of one clock in [Beats].
type beat struct {
	at     time.Time
	place  int // in the queue, from 1; 0 when it is not there
	beater interface{ Beat() }
}

// set has the beat called once, after d. A timer that rings sooner is left as it is: it finds nothing to do.
func (b *Beats) set(one *beat, d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one.at = time.Now().Add(d)
	if one.place == 0 {
		heap.Push(&b.next, one)
	} else {
		heap.Fix(&b.next, one.place-1)
	}
	b.arm()
}

// unset takes a beat out.
func (b *Beats) unset(one *beat) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if one.place > 0 {
		heap.Remove(&b.next, one.place-1)
	}
}

// arm has the timer ring in time for the next beat. mu is held.
func (b *Beats) arm() {
	if len(b.next) == 0 || !b.rings.IsZero() && !b.next[0].at.Before(b.rings) {
		return
	}
	b.rings = b.next[0].at
	if b.timer == nil {
		b.timer = time.AfterFunc(time.Until(b.rings), b.ring)
		return
	}
	b.timer.Reset(time.Until(b.rings))
}

// ring calls what is due, each in a goroutine of its own, which a store may hold up.
func (b *Beats) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for now := time.Now(); len(b.next) > 0 && !b.next[0].at.After(now); {
		if one, ok := heap.Pop(&b.next).(*beat); ok {
			go one.beater.Beat()
		}
	}
	b.rings = time.Time{}
	b.arm()
}

// Rest stops the timer while no clock needs it.
func (b *Beats) Rest() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.next) == 0 && b.timer != nil {
		b.timer.Stop()
		b.rings = time.Time{}
	}
}

// queue is a heap of beats, the next one first.
type queue []*beat

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].at.Before(q[j].at) }

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i+1, j+1
}

// Push implements [heap.Interface].
func (q *queue) Push(x any) {
	if one, ok := x.(*beat); ok {
		*q = append(*q, one)
		one.place = len(*q)
	}
}

// Pop implements [heap.Interface].
func (q *queue) Pop() any {
	last := len(*q) - 1
	one := (*q)[last]
	(*q)[last], one.place = nil, 0
	*q = (*q)[:last]
	return one
}
