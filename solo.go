package semel

import "sync"

// solo holds the intents on which a transaction of this process works, so that
// a twin waits in memory instead of with a connection of its own.
type solo struct {
	mu      sync.Mutex // guards running
	running map[Digest]int
}

// enter reports whether nobody was there; leave follows if so.
func (s *solo) enter(d Digest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[d] > 0 {
		return false
	}
	s.add(d)
	return true
}

// join comes beside whoever is there; leave follows.
func (s *solo) join(d Digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(d)
}

func (s *solo) add(d Digest) {
	if s.running == nil {
		s.running = make(map[Digest]int)
	}
	s.running[d]++
}

func (s *solo) leave(d Digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[d]--; s.running[d] <= 0 {
		delete(s.running, d)
	}
}
