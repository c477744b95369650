package main

import "github.com/semel-dev/semel/internal/machine"

// visible is the record as the table sees it now.
func (m *model) visible(r *record) machine.Record {
	if r.state == machine.Absent || machine.Reached(0, int64(r.expires)) {
		return machine.Record{}
	}
	return machine.Record{
		State:  r.state,
		Lapsed: r.state == machine.Claimed && machine.Reached(0, m.deadlines(r).Lapses),
		Fence:  uint64(r.fence),
	}
}

// deadlines of a claimed record; the lease ends one retention before the record.
func (m *model) deadlines(r *record) machine.Deadlines {
	return machine.Deadlines{Lapses: int64(r.expires) - int64(m.retention), Expires: int64(r.expires)}
}

// place is where the store keeps the record of an intent.
func (m *model) place(intent uint8) uint8 {
	if m.without(lineScope) {
		return 0
	}
	return intent
}

// execute is one atomic step of the store: what the message asks for happens
// now. What it says is told in the trace.
func (m *model) execute(s *state, msg *message) (reply, string, breach) {
	r := &s.records[m.place(msg.intent)]
	w := &s.watches[msg.intent]
	if v := m.visible(r); v.State != machine.Absent && r.whose != msg.intent+1 {
		return reply{}, "meets a record of another scope", breach{5, "an attempt met the record of another scope"}
	}
	switch msg.verb {
	case claim:
		return m.executeClaim(s, msg, r, w)
	case lookup:
		read := m.tell(r, msg)
		return read, "is read", w.read(read.state, read.outcome)
	case renew:
		if !m.table.Renew(m.visible(r), uint64(msg.fence)) {
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

// tell is the record as a reply shows it.
func (m *model) tell(r *record, msg *message) reply {
	v := m.visible(r)
	if v.State == machine.Absent {
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
	answer := m.table.Claim(v, uint64(msg.fence), r.owner == msg.owner)
	attempt, says := uint8(1), "is won"
	switch answer {
	case machine.Stands:
		told := m.tell(r, msg)
		return told, "is not won: there is a record", w.read(told.state, told.outcome)
	case machine.Repeated:
		told := m.tell(r, msg)
		told.ok = true
		return told, "is won (again: the owner is known)", w.repeated(msg)
	case machine.TakenOver:
		attempt, says = 2, "is won: taken over"
	case machine.Fresh:
	}
	fence := s.newFence()
	*r = record{
		state: machine.Claimed, fence: fence, owner: msg.owner, attempt: attempt, asked: msg.asked, whose: msg.intent + 1,
		expires: ticks(machine.ClaimedAt(0, int64(m.lease), int64(m.retention)).Expires),
	}
	b := w.won(m, msg, fence)
	told := m.tell(r, msg)
	told.ok = true
	return told, says, b
}

func (m *model) executeSettle(s *state, msg *message, r *record, w *watch) (reply, string, breach) {
	outcome := uint8(0)
	if msg.to == machine.Completed {
		outcome = msg.fence
	}
	switch m.table.Settle(m.visible(r), uint64(msg.fence), msg.to, r.outcome == outcome) {
	case machine.Nothing:
		return reply{ok: true}, "changes nothing: it was settled so before", breach{}
	case machine.Lost:
		return reply{}, "is refused: lost", breach{}
	case machine.Settled:
		return reply{}, "is refused: settled otherwise", breach{}
	case machine.Remove:
		*r = record{}
		return reply{ok: true}, "removes the record", w.settled(m, msg)
	case machine.Write:
	}
	r.state, r.outcome = msg.to, outcome
	r.expires = ticks(machine.SettledAt(0, int64(m.retention)))
	b := w.settled(m, msg)
	s.log(msg)
	return reply{ok: true}, "is recorded", b
}

// log marks the host whose outcome the store has now.
func (s *state) log(msg *message) {
	for i := range s.hosts {
		if h := &s.hosts[i]; msg.to == machine.Completed && h.phase != idle && h.fence == msg.fence {
			h.logged = true
		}
	}
}

// storeSteps are what the store does by itself: it sweeps, and time passes.
func (m *model) storeSteps(s *state, emit func(step)) {
	for i := range m.intents {
		if r := &s.records[i]; r.state != machine.Absent && m.table.Sweepable(0, int64(r.expires)) {
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

// tick is one unit of time by the host's own clock.
func (h *host) tick(m *model) {
	h.trust -= min(h.trust, 1)
	if h.verb == claim || h.verb == renew {
		h.age = min(h.age+1, m.lease)
	}
	if m.drift {
		h.steady = min(h.steady+1, driftEvery-1)
	}
}

// ticks is a time that is left; none is left of one that has passed.
func ticks(left int64) uint8 { return uint8(max(0, left)) } //nolint:gosec // scenarios keep it below 100.
