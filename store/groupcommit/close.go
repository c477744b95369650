package groupcommit

import "context"

// close refuses what is new.
func (l *lane[P, A]) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	close(l.closing)
	if len(l.tails) == 0 {
		l.empty()
	}
	l.dispatch()
}

// empty tells Close that nothing waits or is under way. mu is held.
func (l *lane[P, A]) empty() {
	select {
	case <-l.drained:
	default:
		close(l.drained)
	}
}

// drain waits until nothing waits or is under way, or ctx ends.
func (l *lane[P, A]) drain(ctx context.Context) {
	select {
	case <-l.drained:
	case <-ctx.Done():
	}
}

// giveUpAll tells those who still wait that they waited in vain.
func (l *lane[P, A]) giveUpAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
	l.alarm.Stop()
	var left []*step[P, A]
	for _, st := range l.tails {
		for ; st != nil; st = st.before {
			if st.state == waiting {
				left = append(left, st)
			}
		}
	}
	for _, st := range left {
		l.withdraw(st)
		l.giveUp(st)
	}
}
