package semel

import (
	"errors"
	"slices"
	"time"
)

// takeOver claims an intent whose record is unknown or lapsed, unless another
// record of it counts more.
func (a *attempt) takeOver(before *Record) storeAnswer {
	if a.transactor != nil {
		return a.takeOverInTx()
	}
	s := a.ask(before.Fence, time.Now())
	core := a.guard.core
	if s.err != nil || !s.won || !core.rotating() {
		return s
	}
	others := slices.DeleteFunc(core.digests(a.key), func(d Digest) bool { return d == a.digest })
	other, err := core.foremost(a.ctx, others)
	neverRan := a.neverRan(before)
	if errors.Is(err, ErrNotFound) || (err == nil && !neverRan && !outranks(&other, before)) {
		return s
	}
	to := Settlement{State: StateReleased}
	if !neverRan { // what was unknown before stays unknown
		to = Settlement{State: StateUnknown, Note: before.Note, Retention: a.guard.policy.UnknownRetention}
	}
	a.yield(&s.rec, a.params(before.Fence), to)
	if err != nil {
		return storeAnswer{err: a.lookupError(err)}
	}
	return a.meet(&other)
}

// takeOverAlone is takeOver for a record that no attempt asked about: while a
// secret is replaced, its intent may have another record that outranks it.
func (a *attempt) takeOverAlone(before *Record) storeAnswer {
	if a.guard.core.rotating() {
		best, err := a.guard.core.find(a.ctx, a.key)
		switch {
		case errors.Is(err, ErrNotFound): // the store does not have the key to look it up with
		case err != nil:
			return storeAnswer{err: a.lookupError(err)}
		case best.Digest != before.Digest:
			return storeAnswer{rec: best}
		}
	}
	return a.takeOver(before)
}

// meet goes on with the record, under whichever digest it has.
func (a *attempt) meet(rec *Record) storeAnswer {
	a.digest = rec.Digest
	a.met = rec
	return storeAnswer{rec: *rec}
}
