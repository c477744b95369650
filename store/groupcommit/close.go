package groupcommit

import "context"

// close refuses what is new.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	close(s.closing)
	if len(s.tails) == 0 {
		s.empty()
	}
	s.dispatch()
}

// empty tells Close that nothing waits or is under way. mu is held.
func (s *stream) empty() {
	select {
	case <-s.drained:
	default:
		close(s.drained)
	}
}

// drain waits until nothing waits or is under way, or ctx ends.
func (s *stream) drain(ctx context.Context) {
	select {
	case <-s.drained:
	case <-ctx.Done():
	}
}

// giveUpAll tells those who still wait that they waited in vain.
func (s *stream) giveUpAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	s.alarm.Stop()
	var left []*step
	for _, st := range s.tails {
		for ; st != nil; st = st.before {
			if st.state == waiting {
				left = append(left, st)
			}
		}
	}
	for _, st := range left {
		s.withdraw(st)
		s.giveUp(st)
	}
}
