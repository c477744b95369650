package main

import "github.com/semel-dev/semel/internal/transition"

// visible returns the record as the table sees it now.
func (m *model) visible(r *record) transition.Record {
	if r.state == transition.Absent || transition.Reached(0, int64(r.expires)) {
		return transition.Record{}
	}
	return transition.Record{
		State:  r.state,
		Lapsed: r.state == transition.Claimed && transition.Reached(0, m.deadlines(r).Lapses),
		Fence:  uint64(r.fence),
	}
}

// deadlines of a claimed record; the lease ends one retention before the record.
func (m *model) deadlines(r *record) transition.Deadlines {
	return transition.Deadlines{Lapses: int64(r.expires) - int64(m.retention), Expires: int64(r.expires)}
}

// execute takes one atomic step of the store, as the message asks. The text goes
// into the trace.
func (m *model) execute(s *state, msg *message) (reply, string, breach) {
	r := &s.records[msg.intent]
	w := &s.watches[msg.intent]
	if v := m.visible(r); v.State != transition.Absent && r.whose != msg.intent+1 {
		return reply{}, "meets a record of another scope", breach{5, "an attempt met the record of another scope"}
	}
	switch msg.verb {
	case claim:
		return m.executeClaim(s, msg, r, w)
	case lookup:
		read := m.tell(r, msg)
		return read, "is read", w.read(read.state, read.outcome)
	case renew:
		if !transition.Renew(m.visible(r), uint64(msg.fence)) {
			return reply{}, "is refused: lost", breach{}
		}
		r.expires = ticks(m.deadlines(r).RenewedAt(0, int64(m.lease)).Expires)
		return reply{ok: true}, "is renewed", w.renewed(m, msg.fence)
	case settle:
		return m.executeSettle(s, msg, r, w)
	case commit:
		return m.executeCommit(s, msg, r, w)
	case noVerb:
	}
	return reply{}, "", breach{}
}

// tell returns the record as a reply shows it.
func (m *model) tell(r *record, msg *message) reply {
	v := m.visible(r)
	if v.State == transition.Absent {
		return reply{}
	}
	told := reply{
		state: v.State, lapsed: v.Lapsed, mine: r.owner == msg.owner, first: r.attempt == 1,
		asked: r.asked, fence: r.fence, outcome: r.outcome,
	}
	if msg.verb == claim {
		told.left = ticks(m.deadlines(r).Lapses)
	}
	return told
}

func (m *model) executeClaim(s *state, msg *message, r *record, w *watch) (reply, string, breach) {
	v := m.visible(r)
	answer := transition.Claim(v, uint64(msg.fence), r.owner == msg.owner)
	attempt, says := uint8(1), "is won"
	switch answer {
	case transition.NotWon:
		told := m.tell(r, msg)
		return told, "is not won: there is a record", w.read(told.state, told.outcome)
	case transition.Repeated:
		told := m.tell(r, msg)
		told.ok = true
		return told, "is won (again: the owner is known)", w.repeated(msg)
	case transition.TakenOver:
		attempt, says = 2, "is won: taken over"
	case transition.Fresh:
	}
	fence := s.newFence()
	*r = record{
		state: transition.Claimed, fence: fence, owner: msg.owner, attempt: attempt, asked: msg.asked, whose: msg.intent + 1,
		expires: ticks(transition.ClaimedAt(0, int64(m.lease), int64(m.retention)).Expires),
	}
	b := w.won(m, msg, fence)
	told := m.tell(r, msg)
	told.ok = true
	return told, says, b
}

func (m *model) executeSettle(s *state, msg *message, r *record, w *watch) (reply, string, breach) {
	outcome := uint8(0)
	if msg.to == transition.Completed {
		outcome = msg.fence
	}
	switch transition.Settle(m.visible(r), uint64(msg.fence), msg.to, r.outcome == outcome) {
	case transition.Nothing:
		return reply{ok: true}, "changes nothing: it was settled so before", breach{}
	case transition.Lost:
		return reply{}, "is refused: lost", breach{}
	case transition.Settled:
		return reply{}, "is refused: settled otherwise", breach{}
	case transition.Remove:
		*r = record{}
		return reply{ok: true}, "removes the record", w.settled(m, msg)
	case transition.Write:
	}
	r.state, r.outcome = msg.to, outcome
	r.expires = ticks(transition.SettledAt(0, int64(m.retention)))
	b := w.settled(m, msg)
	s.log(msg)
	return reply{ok: true}, "is recorded", b
}

// log marks the host whose outcome the store has now.
func (s *state) log(msg *message) {
	for i := range s.hosts {
		if h := &s.hosts[i]; msg.to == transition.Completed && h.phase != idle && h.fence == msg.fence {
			h.logged = true
		}
	}
}

// storeSteps emits the store's own steps: it sweeps, and time passes.
func (m *model) storeSteps(s *state, emit func(step)) {
	for i := range m.intents {
		if r := &s.records[i]; r.state != transition.Absent && transition.Sweepable(0, int64(r.expires)) {
			next := *s
			next.records[i] = record{}
			emit(step{next: next, who: theStore, says: "sweeps the record of intent " + intentName(uint8(i))})
		}
	}
	m.ticks(s, 0, 0, emit)
}

// ticks lets one unit of the store's time pass, for every choice of hosts
// whose clocks do not notice.
func (m *model) ticks(s *state, from int, slow uint8, emit func(step)) {
	if m.drift {
		for i := from; i < m.hosts; i++ {
			if h := &s.hosts[i]; h.steady == driftEvery-1 && (h.trust > 0 || h.verb == claim || h.verb == renew) {
				m.ticks(s, i+1, slow|1<<i, emit)
			}
		}
	}
	next := *s
	for i := range m.intents {
		r := &next.records[i]
		r.expires -= min(r.expires, 1)
		next.watches[i].tick()
	}
	for i := range m.hosts {
		switch h := &next.hosts[i]; {
		case slow&(1<<i) != 0:
			h.steady = 0
		case h.phase != idle:
			h.tick(m)
		}
	}
	if next == *s {
		return
	}
	says := "one tick passes"
	if slow != 0 {
		says = "one tick passes, unnoticed by the slow clock of " + hostNames(slow)
	}
	emit(step{next: next, who: theStore, says: says})
}

// tick advances the host's own clock by one unit.
func (h *host) tick(m *model) {
	h.trust -= min(h.trust, 1)
	if h.verb == claim || h.verb == renew {
		h.age = min(h.age+1, m.lease)
	}
	if m.drift {
		h.steady = min(h.steady+1, driftEvery-1)
	}
}

// ticks returns the time that is left; none is left of one that has passed.
func ticks(left int64) uint8 { return uint8(max(0, left)) } //nolint:gosec // scenarios keep it below 100.
