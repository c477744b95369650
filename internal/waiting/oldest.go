package waiting

import (
	"slices"
	"sync"
)

// Oldest keeps work that nothing waits for, up to a number, the oldest first.
type Oldest[T comparable] struct {
	Most int
	Cut  func(T) // ends work

	mu     sync.Mutex // guards the fields below
	all    []T
	closed bool
}

// Add keeps work, and cuts the oldest where there is too much.
func (o *Oldest[T]) Add(work T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		o.Cut(work)
		return
	}
	o.all = append(o.all, work)
	if len(o.all) > o.Most {
		o.Cut(o.all[0])
		o.all = slices.Delete(o.all, 0, 1)
	}
}

// Remove forgets work that has ended.
func (o *Oldest[T]) Remove(work T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := slices.Index(o.all, work); i >= 0 {
		o.all = slices.Delete(o.all, i, i+1)
	}
}

// Close cuts all of it, and what is added from then on.
func (o *Oldest[T]) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for _, work := range o.all {
		o.Cut(work)
	}
	o.all = nil
}
