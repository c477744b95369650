package main

import (
	"bytes"
	"math/bits"

	"github.com/semel-dev/semel/internal/transition"
)

const (
	maxHosts   = 3
	maxIntents = 2
	maxLoose   = 2
)

// state is the whole world at one instant. Times count down to their end, in ticks
// of the store's clock, so that states do not age; fences and owners are numbered
// from one in their order, so that they do not grow.
type state struct {
	records [maxIntents]record
	watches [maxIntents]watch
	hosts   [maxHosts]host
	loose   [maxLoose]message
	begun   uint8 // attempts
	last    uint8 // the last fence given; kept only to print a path
}

// record is held by the store, expired or not.
type record struct {
	state   transition.State
	fence   uint8
	owner   uint8
	attempt uint8 // 1, or 2 for more
	asked   uint8 // the fingerprint
	outcome uint8 // the fence of the claim whose outcome it is
	whose   uint8 // the intent that wrote it, from 1
	expires uint8
}

// role is the purpose of a host's attempt.
type role uint8

const (
	client     role = iota
	canceller       // the operator's Cancel
	completer       // the operator's Resolve as completed
	releaser        // the operator's Resolve as released, which may be wrong
	undoer          // gives a claim back whose reply was lost
	transactor      // transaction mode
)

// phase is the progress of a host's attempt.
type phase uint8

const (
	idle phase = iota
	claiming
	looking // waits for a twin, looks before it undoes, or looks for an operator
	finding // asks whether it happened, under a claim of its own
	working
	settling
	asking // transaction mode: wants to claim the key in its transaction
	open   // transaction mode: has done so
)

// verb is the store's verb that a request asks for.
type verb uint8

const (
	noVerb verb = iota
	claim
	lookup
	renew
	settle
	commit
)

// travel is the position of a request on its way.
type travel uint8

const (
	nowhere  travel = iota
	outward         // on its way to the store
	homeward        // executed; the reply is on its way
)

// message is an abandoned request that may still reach the store.
type message struct {
	verb   verb
	intent uint8
	role   role
	owner  uint8
	asked  uint8
	fence  uint8 // to take over, or the claim's own
	to     transition.State
	denied uint8 // the caller heard that nothing happened
}

// reply is the store's answer.
type reply struct {
	ok      bool // won, renewed, settled, committed
	state   transition.State
	lapsed  bool
	mine    bool  // the record's owner is this attempt
	first   bool  // it is the record's first claim
	left    uint8 // of the lease
	asked   uint8
	fence   uint8
	outcome uint8
}

// host is one process with at most one attempt; a crash forgets all of it.
type host struct {
	role   role
	phase  phase
	paused bool
	intent uint8
	asked  uint8
	owner  uint8
	fence  uint8 // of the claim it holds
	trust  uint8 // how long it still relies on it, by its own clock
	age    uint8 // since it asked for what it waits for, by its own clock
	steady uint8 // ticks since its clock last lost one
	found  bool  // what it takes over has to be reconciled
	done   bool  // the effect was executed
	logged bool  // the store recorded its outcome (for promise 7)

	verb   verb // the request under way, if any
	travel travel
	to     transition.State
	over   uint8 // the fence to take over
	reply  reply
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// key orders hosts. The owner is left out: its numbers follow that order.
func (h *host) key() [25]uint8 {
	return [...]uint8{
		uint8(h.role), uint8(h.phase), bit(h.paused), h.intent, h.asked, h.fence, h.trust, h.age, h.steady,
		bit(h.found), bit(h.done), bit(h.logged), uint8(h.verb), uint8(h.travel), uint8(h.to), h.over,
		bit(h.reply.ok), uint8(h.reply.state), bit(h.reply.lapsed), bit(h.reply.mine), bit(h.reply.first),
		h.reply.left, h.reply.asked, h.reply.fence, h.reply.outcome,
	}
}

// canonical turns states that differ in names only into one: of hosts, of
// fences (their order is kept), of owners and of the places of messages.
func (m *model) canonical(s *state) {
	s.last = 0
	for i := range s.records {
		if r := &s.records[i]; r.expires == 0 && r.state != transition.Absent {
			*r = record{state: r.state, whose: r.whose} // no verb sees more of it
		}
	}
	s.rankFences()
	for i := 1; i < m.hosts; i++ {
		for j := i; j > 0; j-- {
			a, b := s.hosts[j-1].key(), s.hosts[j].key()
			if bytes.Compare(a[:], b[:]) <= 0 {
				break
			}
			s.hosts[j-1], s.hosts[j] = s.hosts[j], s.hosts[j-1]
		}
	}
	if a, b := s.loose[0].key(), s.loose[1].key(); bytes.Compare(a[:], b[:]) < 0 {
		s.loose[0], s.loose[1] = s.loose[1], s.loose[0]
	}
	s.nameOwners()
}

func (l *message) key() [7]uint8 {
	return [...]uint8{uint8(l.verb), l.intent, uint8(l.role), l.asked, l.fence, uint8(l.to), l.denied}
}

// eachFence calls f with every place that holds a fence.
func (s *state) eachFence(f func(*uint8)) {
	for i := range s.records {
		f(&s.records[i].fence)
		f(&s.records[i].outcome)
		w := &s.watches[i]
		f(&w.newest)
		f(&w.recorded)
		f(&w.born)
		f(&w.downstream)
	}
	for i := range s.hosts {
		h := &s.hosts[i]
		if h.phase == idle {
			continue
		}
		f(&h.fence)
		f(&h.over)
		f(&h.reply.fence)
		f(&h.reply.outcome)
	}
	for i := range s.loose {
		f(&s.loose[i].fence)
	}
}

func (s *state) rankFences() {
	there := uint64(0) // a bit for each
	s.eachFence(func(f *uint8) { there |= 1 << *f })
	there &^= 1
	if there&(there+2) == 0 {
		return // they are numbered so already
	}
	s.eachFence(func(f *uint8) {
		if *f != 0 {
			*f = uint8(1 + bits.OnesCount64(there&(1<<*f-1))) //nolint:gosec // at most 64.
		}
	})
}

// newFence returns a fence greater than every one that is remembered.
func (s *state) newFence() uint8 {
	s.eachFence(func(f *uint8) { s.last = max(s.last, *f) })
	s.last++
	return s.last
}

// eachOwner calls f with every place that holds an owner.
func (s *state) eachOwner(f func(*uint8)) {
	for i := range s.hosts {
		f(&s.hosts[i].owner)
	}
	for i := range s.loose {
		f(&s.loose[i].owner)
	}
	for i := range s.records {
		f(&s.records[i].owner)
		f(&s.watches[i].owner)
	}
}

func (s *state) nameOwners() {
	var names [64]uint8
	next := uint8(0)
	s.eachOwner(func(o *uint8) {
		if *o != 0 && names[*o] == 0 {
			next++
			names[*o] = next
		}
		*o = names[*o]
	})
}

func (s *state) newOwner() uint8 {
	most := uint8(0)
	s.eachOwner(func(o *uint8) { most = max(most, *o) })
	return most + 1
}
