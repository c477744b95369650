package stage

import "sync"

// news notifies any number of listeners of a change. The zero news is ready for use.
type news struct {
	mu   sync.Mutex // guards next
	next chan struct{}
}

// notify wakes all listeners.
func (n *news) notify() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next != nil {
		close(n.next)
		n.next = nil
	}
}

// listen returns a channel that is closed at the next change. Call it before reading the state, so that no change is
// missed.
func (n *news) listen() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next == nil {
		n.next = make(chan struct{})
	}
	return n.next
}
