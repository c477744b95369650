package semelcaddy

import "sync"

// life counts the requests of a handler, and ends it after the last one. Caddy sends a handler no request after its end. It is not a
// sync.WaitGroup, because the end must not hold up the reload that asks for it.
type life struct {
	mu      sync.Mutex // guards the fields below
	running int
	last    func() error // what the last request does; nil while the handler lives
}

func (l *life) enter() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running++
}

func (l *life) leave() {
	l.mu.Lock()
	l.running--
	last := l.last
	if l.running > 0 {
		last = nil
	}
	if last != nil {
		l.last = nil
	}
	l.mu.Unlock()
	if last != nil {
		_ = last() // no caller is left to hear of it
	}
}

// end does last now, or lets the last request do it.
func (l *life) end(last func() error) error {
	l.mu.Lock()
	waits := l.running > 0
	if waits {
		l.last = last
	}
	l.mu.Unlock()
	if waits {
		return nil
	}
	return last()
}
