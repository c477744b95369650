package main

import "github.com/semel-dev/semel/internal/transition"

// step is one event, and the state after it.
type step struct {
	next   state
	who    int // a host, or theStore, or theNetwork
	says   string
	result string // of a request that the store executes
	breach breach
}

const (
	theStore   = -1
	theNetwork = -2
)

// hostSteps emits everything that host i can do or suffer now.
func (m *model) hostSteps(s *state, i int, emit func(step)) {
	h := &s.hosts[i]
	if h.phase == idle {
		m.begin(s, i, emit)
		return
	}
	m.crash(s, i, emit)
	if h.travel == outward {
		next := *s
		msg := next.hosts[i].message()
		told, result, b := m.execute(&next, &msg)
		n := &next.hosts[i]
		n.travel, n.reply = homeward, told
		emit(step{next: next, who: i, says: "its " + requestNames()[msg.verb] + " reaches the store and ", result: result, breach: b})
	}
	if h.paused {
		m.late(s, i, emit)
		return
	}
	if h.verb != noVerb {
		m.timeout(s, i, emit)
	}
	if h.travel == homeward {
		m.hear(s, i, emit)
	}
	switch h.phase {
	case working:
		m.work(s, i, emit)
	case finding:
		m.find(s, i, emit)
	case asking, open:
		m.transact(s, i, emit)
	case idle, claiming, looking, settling:
	}
}

// begin starts an attempt, as long as there are attempts left.
func (m *model) begin(s *state, i int, emit func(step)) {
	if int(s.begun) == m.attempts {
		return
	}
	for _, r := range m.roles {
		for intent := range uint8(m.intents) { //nolint:gosec // at most maxIntents.
			for asked := range m.requests {
				next := *s
				next.begun++
				h := host{role: r, intent: intent, asked: asked + 1, owner: s.newOwner(), steady: driftEvery - 1}
				switch r {
				case client:
					h.send(claiming, claim, 0, transition.Absent)
				case transactor:
					h.phase = asking
				case canceller, completer, releaser, undoer:
					h.asked = 0
					h.send(looking, lookup, 0, transition.Absent)
				}
				next.hosts[i] = h
				emit(step{next: next, who: i, says: m.beginning(&h)})
				if r != client && r != transactor {
					break // an operator names no request
				}
			}
		}
	}
}

// send puts a request on its way.
func (h *host) send(p phase, v verb, over uint8, to transition.State) {
	h.phase, h.verb, h.travel, h.over, h.to = p, v, outward, over, to
	h.age, h.reply = 0, reply{}
}

// hush forgets the request under way and its reply.
func (h *host) hush() {
	h.verb, h.travel, h.age, h.reply = noVerb, nowhere, 0, reply{}
}

// message returns the host's request.
func (h *host) message() message {
	msg := message{verb: h.verb, intent: h.intent, role: h.role, owner: h.owner, asked: h.asked, fence: h.fence}
	switch h.verb {
	case claim:
		msg.fence = h.over
	case settle:
		msg.to = h.to
	case noVerb, lookup, renew, commit:
	}
	return msg
}

// adrift emits the fates of an abandoned request: it is lost, or comes late if
// there is a place for it.
func (m *model) adrift(s *state, i int, emit func(state, string)) {
	h := &s.hosts[i]
	if h.travel != outward {
		emit(*s, "")
		return
	}
	emit(*s, ", which is lost")
	if h.verb == lookup {
		return // whenever it comes, it changes nothing
	}
	for j := range m.places {
		if s.loose[j].verb == noVerb {
			next := *s
			next.loose[j] = h.message()
			emit(next, ", which may still arrive")
			return
		}
	}
}

// looseSteps: a late request reaches the store.
func (m *model) looseSteps(s *state, j int, emit func(step)) {
	msg := s.loose[j]
	if msg.verb == noVerb {
		return
	}
	next := *s
	next.loose[j] = message{}
	_, result, b := m.execute(&next, &msg)
	emit(step{next: next, who: theNetwork, says: "a late " + requestNames()[msg.verb] + " reaches the store and ", result: result, breach: b})
	if msg.verb == commit {
		next := *s
		next.loose[j] = message{}
		emit(step{next: next, who: theStore, says: "notices a broken connection and rolls its transaction back"})
	}
}

// crash: the process dies and forgets.
func (m *model) crash(s *state, i int, emit func(step)) {
	m.adrift(s, i, func(next state, fate string) {
		says := "crashes"
		if fate != "" {
			says += "; its " + requestNames()[s.hosts[i].verb] + " was under way" + fate
		}
		next.hosts[i] = host{}
		emit(step{next: next, who: i, says: says})
	})
}

// timeout: the host waits no longer for a reply. It asks again, or gives up.
func (m *model) timeout(s *state, i int, emit func(step)) {
	was := s.hosts[i]
	lost := "loses the reply to its " + requestNames()[was.verb]
	m.adrift(s, i, func(next state, fate string) {
		says := lost
		if fate != "" {
			says = "has no reply to its " + requestNames()[was.verb] + fate
		}
		if was.travel == homeward || was.verb == commit || next != *s {
			again := next
			h := &again.hosts[i]
			age := h.age
			if h.verb == renew && h.trust == 0 {
				return
			}
			h.send(h.phase, h.verb, h.over, h.to)
			if h.verb == claim {
				h.age = age // the lease is trusted from the first time it was asked for
			}
			if h.verb == commit { // asks the database for its outcome
				h.hush()
				h.phase = asking
			}
			emit(step{next: again, who: i, says: says + ", and asks again"})
		}
		m.giveUp(&next, i)
		emit(step{next: next, who: i, says: says + ", and gives up"})
	})
}

// giveUp ends the waiting for a reply that does not come.
func (m *model) giveUp(s *state, i int) {
	h := &s.hosts[i]
	switch {
	case h.verb == claim && h.role == client:
		// The caller hears "unavailable"; the claim is looked for and given back.
		over := h.over
		*h = host{role: undoer, intent: h.intent, asked: h.asked, owner: h.owner, steady: h.steady}
		h.send(looking, lookup, over, transition.Absent)
	case h.verb == renew:
		h.hush()
	default:
		*h = host{}
	}
}

// hear lets a host react to a reply.
func (m *model) hear(s *state, i int, emit func(step)) {
	next := *s
	h := &next.hosts[i]
	told, age := h.reply, h.age
	switch h.verb {
	case claim:
		if !told.ok {
			m.decide(s, i, emit)
			return
		}
		h.hush()
		h.fence = told.fence
		if h.role != client {
			h.send(settling, settle, 0, h.verdict())
			emit(step{next: next, who: i, says: "holds the claim, and settles as the operator said"})
			return
		}
		h.trust = m.trust(told.left, age)
		h.phase = working
		if h.found {
			h.phase, h.found = finding, false
		}
		emit(step{next: next, who: i, says: "holds the claim"})
	case lookup:
		m.decide(s, i, emit)
	case renew:
		h.hush()
		if told.ok && h.trust > 0 { // what is lost stays lost: the work has been stopped
			h.trust = m.trust(m.lease, age)
		} else {
			h.trust = 0
		}
		emit(step{next: next, who: i, says: "hears of its renewal"})
	case settle, commit:
		m.ended(s, i, emit)
	case noVerb:
	}
}

// trust returns how much longer a lease is relied on, from how much of it was
// left when the store answered, and the age of that request.
func (m *model) trust(left, age uint8) uint8 {
	spent := int64(m.lease) - int64(left)
	return ticks(transition.Trusted(int64(m.lease)) - spent - int64(age))
}

// verdict returns the state that an operator's act settles as.
func (h *host) verdict() transition.State {
	switch h.role {
	case canceller:
		return transition.Cancelled
	case completer:
		return transition.Completed
	case client, releaser, undoer, transactor:
	}
	return transition.Released
}

// ended ends an attempt: the caller hears how it was settled.
func (m *model) ended(s *state, i int, emit func(step)) {
	next, h := *s, s.hosts[i]
	next.hosts[i] = host{}
	st := step{next: next, who: i, says: "tells its caller that it was not recorded"}
	switch {
	case h.role == transactor && !h.reply.ok:
		next.hosts[i] = host{role: transactor, phase: asking, intent: h.intent, asked: h.asked, owner: h.owner, steady: h.steady}
		st.next, st.says = next, "is refused at the commit: the record belongs to another attempt"
	case h.reply.ok && (h.to == transition.Completed || h.role == transactor):
		st.says = "tells its caller: done"
		st.breach = h.saysDone()
	case h.reply.ok:
		st.says = "ends its attempt"
	}
	emit(st)
}

// saysDone checks promise 7.
func (h *host) saysDone() breach {
	if h.logged {
		return breach{}
	}
	return breach{7, "the caller heard \"done\" of an outcome that was not recorded"}
}
