package main

import "github.com/semel-dev/semel/internal/transition"

// breach is a promise of docs/guarantees.md that a step breaks. The zero
// breach says that the step breaks none.
type breach struct {
	promise int
	says    string
}

// watch monitors an intent. It is not part of the protocol and never looks at the
// store's record: it only sees the store's answers and the effects of the work.
type watch struct {
	newest     uint8 // the last fence given for it
	owner      uint8 // who won it
	live       uint8 // ticks until that claim lapses
	keep       uint8 // ticks until it may be forgotten
	recorded   uint8 // the outcome, once there is one
	cancelled  bool
	effects    uint8 // executed since it was last absent: 0, 1, or 2 for more
	asked      uint8 // the fingerprint it is remembered with
	born       uint8 // the first fence since it was last absent
	downstream uint8 // the greatest fence that the downstream system accepted
}

// forget ends the retention, or a claim without effect.
func (w *watch) forget() { *w = watch{downstream: w.downstream} }

// tick advances the store's time by one unit.
func (w *watch) tick() {
	w.live -= min(w.live, 1)
	if w.keep == 0 {
		return
	}
	if w.keep--; w.keep == 0 {
		w.forget()
	}
}

// won is called when the store gives a claim a new fence.
func (w *watch) won(m *model, msg *message, fence uint8) breach {
	var b breach
	switch {
	case fence <= w.newest:
		b = breach{1, "a claim was given a fence that is not greater than the one before"}
	case w.live > 0:
		b = breach{1, "a claim was won while another one is live"}
	case w.cancelled:
		b = breach{3, "an intent was claimed after it was cancelled"}
	case w.recorded != 0:
		b = breach{2, "an intent was claimed after it was completed, within the retention"}
	case w.keep > 0 && w.asked != 0 && msg.asked != 0 && w.asked != msg.asked:
		b = breach{6, "an intent was taken over by a request for something else"}
	}
	if w.keep == 0 {
		w.forget()
		w.born, w.asked = fence, msg.asked
	}
	w.newest, w.owner = fence, msg.owner
	w.live, w.keep = m.lease, m.lease+m.retention
	return b
}

// repeated is called when the store says that a claim was won before.
func (w *watch) repeated(msg *message) breach {
	if w.owner != msg.owner {
		return breach{1, "a live claim was given to a second holder"}
	}
	return breach{}
}

// read is called with the record that the store returned.
func (w *watch) read(state transition.State, outcome uint8) breach {
	switch {
	case w.recorded != 0 && (state != transition.Completed || outcome != w.recorded):
		return breach{2, "the store told something else than the recorded outcome, within the retention"}
	case w.cancelled && state != transition.Cancelled:
		return breach{3, "the store forgot within the retention that the intent was cancelled"}
	}
	return breach{}
}

// renewed is called when the store has moved the lease.
func (w *watch) renewed(m *model, fence uint8) breach {
	if fence != w.newest {
		return breach{1, "a former holder's renewal changed the record"}
	}
	w.live, w.keep = m.lease, m.lease+m.retention
	return breach{}
}

// settled is called when the store has written a settlement, or removed the
// record for it.
func (w *watch) settled(m *model, msg *message) breach {
	switch {
	case msg.fence != w.newest:
		return breach{1, "a former holder's settlement changed the record"}
	case msg.to == transition.Released && msg.role != releaser && m.onUnknown != rerun && w.effects > 0:
		return breach{3, "an intent was released although it was executed"}
	case msg.to == transition.Released:
		w.forget()
		return breach{}
	}
	w.live, w.keep = 0, m.retention
	switch msg.to {
	case transition.Completed:
		w.recorded = msg.fence
	case transition.Cancelled:
		w.cancelled = true
	case transition.Absent, transition.Claimed, transition.Released, transition.Unknown:
	}
	return breach{}
}

// executed is called when the work takes effect.
func (w *watch) executed(m *model, h *host) breach {
	var b breach
	ofThisLife := w.keep > 0 && h.fence >= w.born
	if ofThisLife {
		w.effects = min(w.effects+1, 2)
	}
	switch {
	case h.fence == 0:
		b = breach{10, "the work was executed without a claim"}
	case !h.paused && (h.fence != w.newest || w.live == 0):
		b = breach{9, "a holder that was never held up executed after its lease had lapsed"}
	case ofThisLife && w.effects > 1 && m.onUnknown != rerun:
		b = breach{3, "the intent was executed twice"}
	case m.downstream && h.fence < w.downstream:
		b = breach{1, "downstream accepted a former holder's effect after a later one's"}
	}
	if m.downstream {
		w.downstream = max(w.downstream, h.fence)
	}
	return b
}
