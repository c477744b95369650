package main

import "github.com/semel-dev/semel/internal/transition"

// transact takes the steps of transaction mode: the claim, the effect and the outcome are one
// commit of the database that holds the records.
func (m *model) transact(s *state, i int, emit func(step)) {
	h := &s.hosts[i]
	switch {
	case h.verb != noVerb:
	case h.phase == asking:
		if !m.locked(s, i) {
			m.openTransaction(s, i, emit)
		}
	default:
		next := *s
		next.hosts[i].send(open, commit, 0, transition.Absent)
		emit(step{next: next, who: i, says: "asks to commit business rows and outcome"})
		next = *s
		next.hosts[i] = host{}
		emit(step{next: next, who: i, says: "rolls back"})
	}
}

// locked reports whether another transaction works on the intent: the
// database lets no other claim it until that one has ended.
func (m *model) locked(s *state, i int) bool {
	intent := s.hosts[i].intent
	for j := range s.hosts {
		other := &s.hosts[j]
		if j != i && other.intent == intent && other.phase == open && other.travel != homeward {
			return true
		}
	}
	for j := range s.loose {
		if s.loose[j].verb == commit && s.loose[j].intent == intent {
			return true
		}
	}
	return false
}

// openTransaction claims the key inside of a transaction, or meets a record.
// With a fence from before, it asks for the outcome of a commit.
func (m *model) openTransaction(s *state, i int, emit func(step)) {
	next := *s
	h := &next.hosts[i]
	msg := h.message()
	r, w := &next.records[h.intent], &next.watches[h.intent]
	told := m.tell(r, &msg)
	if transition.Claim(m.visible(r), 0, false) != transition.Fresh {
		st := step{next: next, who: i, says: "finds a record and tells its caller what it says", breach: w.read(told.state, told.outcome)}
		if d := m.decision(&told, h.asked); d == transition.Replay && told.outcome == h.fence {
			st.says = "finds that its commit took place, and tells its caller: done"
			st.breach = h.saysDone()
		}
		st.next.hosts[i] = host{}
		emit(st)
		return
	}
	if b := w.read(transition.Absent, 0); h.fence != 0 {
		for j := range next.loose {
			if next.loose[j].verb == commit && next.loose[j].fence == h.fence {
				next.loose[j].denied = 1
			}
		}
		next.hosts[i] = host{}
		emit(step{next: next, who: i, says: "finds no record, and tells its caller: nothing happened", breach: b})
		return
	}
	h.fence = next.newFence()
	h.phase = open
	emit(step{next: next, who: i, says: "claims the key in its transaction"})
}

// executeCommit commits: the record's unique key is the last arbiter.
func (m *model) executeCommit(s *state, msg *message, r *record, w *watch) (reply, string, breach) {
	if transition.Claim(m.visible(r), 0, false) != transition.Fresh {
		return reply{}, "is refused: a record is there", breach{}
	}
	*r = record{
		state: transition.Completed, fence: msg.fence, owner: msg.owner, attempt: 1, asked: msg.asked,
		outcome: msg.fence, whose: msg.intent + 1, expires: ticks(transition.SettledAt(0, int64(m.retention))),
	}
	b := w.won(m, msg, msg.fence)
	won := *msg
	won.to = transition.Completed
	if again := w.settled(m, &won); b.promise == 0 {
		b = again
	}
	w.effects++
	s.log(&won)
	switch {
	case b.promise != 0:
	case msg.denied != 0:
		b = breach{4, "a transaction took place after its caller had heard that nothing happened"}
	default:
		b = w.together()
	}
	return reply{ok: true}, "commits", b
}

// together checks promise 4: the business rows are there exactly when the outcome
// is.
func (w *watch) together() breach {
	switch {
	case w.recorded == 0 && w.effects > 0:
		return breach{4, "at this instant the business rows are there without an outcome"}
	case w.recorded != 0 && w.effects != 1:
		return breach{4, "one outcome is there, and not one set of business rows"}
	}
	return breach{}
}
