package main

import "github.com/semel-dev/semel/internal/transition"

// work emits the steps of a running holder.
func (m *model) work(s *state, i int, emit func(step)) {
	h := &s.hosts[i]
	if !h.done && h.trust > 0 {
		m.effect(s, i, "executes the work", emit)
		if m.pauses {
			next := *s
			next.hosts[i].paused = true
			emit(step{next: next, who: i, says: "is held up"})
		}
	}
	m.beat(s, i, emit)
	switch {
	case h.done:
		m.settles(s, i, transition.Completed, emit)
		m.settles(s, i, transition.Unknown, emit) // it lost the answer of the work
	case h.trust > 0:
		m.settles(s, i, transition.Released, emit)
	default:
		m.settles(s, i, transition.Unknown, emit)
	}
}

// late: a host that is held up executes before it notices, or notices.
func (m *model) late(s *state, i int, emit func(step)) {
	m.effect(s, i, "goes on and executes before it looks at the clock", emit)
	next := *s
	next.hosts[i].paused = false
	emit(step{next: next, who: i, says: "goes on"})
}

// effect executes the work, unless the downstream system refuses the fence.
func (m *model) effect(s *state, i int, says string, emit func(step)) {
	next := *s
	h := &next.hosts[i]
	w := &next.watches[h.intent]
	if m.downstream && h.fence < w.downstream {
		h.paused, h.trust = false, 0
		emit(step{next: next, who: i, says: "is refused downstream: its fence is stale"})
		return
	}
	b := w.executed(m, h)
	h.done, h.paused = true, false
	emit(step{next: next, who: i, says: says, breach: b})
}

// beat emits the steps of the heartbeat.
func (m *model) beat(s *state, i int, emit func(step)) {
	h := &s.hosts[i]
	if !m.renews || h.verb != noVerb || h.trust == 0 || h.fence == 0 {
		return
	}
	next := *s
	next.hosts[i].send(h.phase, renew, 0, transition.Absent)
	emit(step{next: next, who: i, says: "asks to renew its lease"})
}

// settles stops the heartbeat, whatever became of its last request, and
// settles.
func (m *model) settles(s *state, i int, to transition.State, emit func(step)) {
	m.adrift(s, i, func(next state, fate string) {
		h := &next.hosts[i]
		says := "settles as " + stateNames()[to]
		if fate != "" {
			says += "; its renewal was under way" + fate
		}
		h.trust = 0
		h.send(settling, settle, 0, to)
		emit(step{next: next, who: i, says: says})
	})
}

// find gives the answer of a policy's Reconcile function, which tells the truth
// or nothing: "it did not happen" only when it cannot happen any more either.
func (m *model) find(s *state, i int, emit func(step)) {
	h := &s.hosts[i]
	m.beat(s, i, emit)
	if s.watches[h.intent].effects > 0 {
		m.settles(s, i, transition.Completed, emit)
	} else if !s.mayStillHappen(i) {
		next := *s
		next.hosts[i].phase = working
		emit(step{next: next, who: i, says: "finds out that it did not happen"})
	}
	m.settles(s, i, transition.Unknown, emit)
}

// mayStillHappen reports whether another attempt is about to execute the intent
// of host i.
func (s *state) mayStillHappen(i int) bool {
	for j := range s.hosts {
		other := &s.hosts[j]
		if j != i && other.intent == s.hosts[i].intent && other.phase == working && !other.done &&
			(other.paused || other.trust > 0) {
			return true
		}
	}
	return false
}
