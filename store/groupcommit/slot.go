package groupcommit

import "time"

// slots are the calls that may be under way at a time. The stream's mu guards them.
type slots struct {
	all      []slot
	patience time.Duration // longer than the time that a batch has
}

type slot struct {
	taken bool
	since time.Time
	turns uint64 // how often it was taken
	steps int    // that it carries
}

// turn is one use of a slot.
type turn struct {
	slot int
	no   uint64
}

// takeTurn returns a turn for so many steps when a slot is free, or was taken so
// long ago that it no longer counts, and they are not fewer than the calls under
// way carry on average: smaller ones would only compete with them, and grow
// smaller still. So a few callers go at once, and many share large batches.
func (s *slots) takeTurn(steps int, now time.Time) (turn, bool) {
	calls, carried, free := 0, 0, -1
	for i := range s.all {
		sl := &s.all[i]
		switch {
		case sl.counts(s, now):
			calls++
			carried += sl.steps
		case free < 0:
			free = i
		}
	}
	if free < 0 || steps*calls < carried {
		return turn{}, false
	}
	sl := &s.all[free]
	sl.taken, sl.since, sl.steps = true, now, steps
	sl.turns++
	return turn{slot: free, no: sl.turns}, true
}

func (sl *slot) counts(s *slots, now time.Time) bool {
	return sl.taken && now.Sub(sl.since) < s.patience
}

// carry corrects how many steps are in a slot that was just taken.
func (s *slots) carry(t turn, steps int) { s.all[t.slot].steps = steps }

// giveBack frees the slot, unless another step has it by now.
func (s *slots) giveBack(t turn) {
	if sl := &s.all[t.slot]; sl.turns == t.no {
		sl.taken = false
	}
}

// stuckAt is when the next of the calls under way no longer counts.
func (s *slots) stuckAt(now time.Time) time.Time {
	at := now
	for i := range s.all {
		if sl := &s.all[i]; sl.counts(s, now) && sl.since.Before(at) {
			at = sl.since
		}
	}
	return at.Add(s.patience)
}
