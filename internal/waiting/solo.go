package waiting

import "sync"

// Solo holds the intents on which a transaction of this process works, so that
// a twin waits in memory instead of with a connection of its own.
type Solo struct {
	mu      sync.Mutex // guards running
	running map[[32]byte]int
}

// Enter takes the intent and reports whether it was free; Leave follows if so.
func (s *Solo) Enter(d [32]byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[d] > 0 {
		return false
	}
	s.add(d)
	return true
}

// Join takes the intent although another transaction works on it; Leave follows.
func (s *Solo) Join(d [32]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(d)
}

func (s *Solo) add(d [32]byte) {
	if s.running == nil {
		s.running = make(map[[32]byte]int)
	}
	s.running[d]++
}

// Leave gives the intent back.
func (s *Solo) Leave(d [32]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[d]--; s.running[d] <= 0 {
		delete(s.running, d)
	}
}
