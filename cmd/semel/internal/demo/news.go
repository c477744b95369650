package demo

import "sync"

// news tells any number of listeners that something has changed. The zero news
// is ready for use.
type news struct {
	mu   sync.Mutex // guards next
	next chan struct{}
}

// tell wakes everybody who listens.
func (n *news) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next != nil {
		close(n.next)
		n.next = nil
	}
}

// listen returns a channel that is closed at the next change. Call it before
// looking, so that nothing falls between.
func (n *news) listen() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next == nil {
		n.next = make(chan struct{})
	}
	return n.next
}
