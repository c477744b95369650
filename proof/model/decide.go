package main

import "github.com/semel-dev/semel/internal/transition"

// decide lets a host act on the record that the store returned.
func (m *model) decide(s *state, i int, emit func(step)) {
	switch h := &s.hosts[i]; {
	case h.role == undoer:
		m.undo(s, i, emit)
	case h.role != client:
		m.operate(s, i, emit)
	case h.reply.state == transition.Absent:
		next := *s
		next.hosts[i].found = false
		next.hosts[i].send(claiming, claim, 0, transition.Absent)
		emit(step{next: next, who: i, says: "finds no record, and claims"})
	default:
		m.meet(s, i, emit)
	}
}

// decision asks the table what to do about the record that a host met.
func (m *model) decision(told *reply, asked uint8) transition.Decision {
	return transition.Decide(
		transition.Found{
			State: told.state, Lapsed: told.lapsed, Asked: told.asked == asked, Kept: true,
			NeverRan: neverRan(told),
		},
		transition.Policy{Refuse: m.onUnknown == refuse},
	)
}

// neverRan: the record is a claim of this very attempt, with nothing before it.
func neverRan(told *reply) bool {
	return told.state == transition.Claimed && told.mine && told.first
}

func (m *model) meet(s *state, i int, emit func(step)) {
	next := *s
	h := &next.hosts[i]
	told := h.reply
	switch m.decision(&told, h.asked) {
	case transition.Replay:
		*h = host{}
		st := step{next: next, who: i, says: "replays the outcome to its caller"}
		if told.asked != s.hosts[i].asked {
			st.breach = breach{6, "a request for something else was shown the outcome"}
		}
		emit(st)
	case transition.Wait:
		m.wait(s, i, emit)
	case transition.TakeOver:
		h.found = m.onUnknown == reconcile && !neverRan(&told)
		h.send(claiming, claim, told.fence, transition.Absent)
		emit(step{next: next, who: i, says: "takes the record over"})
	case transition.SayCancelled, transition.SayMismatch, transition.SayDuplicate, transition.SayNotKept, transition.SayUnknown:
		*h = host{}
		emit(step{next: next, who: i, says: "is refused, and tells its caller why"})
	}
}

// wait: a twin is being executed. Only so many attempts may wait; each looks
// again or loses patience.
func (m *model) wait(s *state, i int, emit func(step)) {
	next := *s
	next.hosts[i] = host{}
	emit(step{next: next, who: i, says: "tells its caller that a twin is in flight"})

	waiting := 0
	for j := range s.hosts {
		if h := &s.hosts[j]; j != i && h.phase == looking && h.role == client && h.intent == s.hosts[i].intent {
			waiting++
		}
	}
	if waiting >= m.waiters {
		return
	}
	next = *s
	next.hosts[i].send(looking, lookup, 0, transition.Absent)
	st := step{next: next, who: i, says: "waits for its twin, and looks again"}
	if waiting+1 > m.waiters {
		st.breach = breach{8, "more attempts wait for a twin than there is room for"}
	}
	emit(st)
}

// undo gives back a claim whose reply was lost, once it is there.
func (m *model) undo(s *state, i int, emit func(step)) {
	next := *s
	h := &next.hosts[i]
	told := h.reply
	switch {
	case told.state == transition.Absent:
		h.send(looking, lookup, h.over, transition.Absent)
		emit(step{next: next, who: i, says: "finds nothing to give back yet"})
		next.hosts[i] = host{}
		emit(step{next: next, who: i, says: "stops looking for what to give back"})
	case told.state != transition.Claimed || !told.mine:
		*h = host{}
		emit(step{next: next, who: i, says: "has nothing to give back"})
	default:
		to := transition.Released
		if h.over != 0 {
			to = transition.Unknown // what was unknown before stays unknown
		}
		h.fence = told.fence
		h.send(settling, settle, 0, to)
		emit(step{next: next, who: i, says: "gives back the claim that never ran"})
	}
}

// operate takes the steps of an operator's act, up to its claim.
func (m *model) operate(s *state, i int, emit func(step)) {
	next := *s
	h := &next.hosts[i]
	told := h.reply
	switch {
	case h.verb == claim, told.state == transition.Completed, told.state == transition.Cancelled,
		told.state == transition.Claimed && !told.lapsed, told.state == transition.Absent && h.role != canceller:
		*h = host{}
		emit(step{next: next, who: i, says: "tells the operator why it cannot be done"})
	default:
		h.asked = told.asked
		h.send(claiming, claim, told.fence, transition.Absent)
		emit(step{next: next, who: i, says: "claims the record for the operator"})
	}
}
