package main

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/semel-dev/semel"
)

// intent holds what is known of one intent. The zero value is absent.
type intent struct {
	there    bool // a record is there; from its expiry on it is absent nevertheless
	state    semel.State
	fence    semel.Fence // 0: greater than above, and not shown yet
	above    semel.Fence // the greatest fence that was shown
	owner    string
	attempt  int
	outcome  string
	kept     bool
	claimed  span
	lease    span // while claimed
	settled  span // otherwise
	retained int64
}

// rememberedMS bounds how far the time of reading may be ahead of the store's
// clock in an answer from outcomecache, which counts from before it asked the
// store, so that no record lives too long.
const rememberedMS = int64(verbLimit / time.Millisecond)

// observed is the output of an operation: the reply, and the range of the store's
// clock in which the step was taken.
type observed struct {
	reply  *reply // nil: the step may be taken later, or never
	window span
	// removes: the server removes what has expired, so that a record stays away
	// when the clock is set back to before its expiry. The other stores are
	// not swept here.
	removes bool
}

// model returns the contract of semel.Store, for the steps of one intent.
func model() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{intent{}} },
		Step: func(state, input, output any) (next []any) {
			s, okState := state.(intent)
			in, okIn := input.(call)
			out, okOut := output.(observed)
			if !okState || !okIn || !okOut {
				return nil
			}
			for _, after := range s.step(in, out) {
				next = append(next, after)
			}
			return next
		},
		DescribeOperation: func(input, output any) string {
			in, _ := input.(call)
			out, _ := output.(observed)
			return in.describe(out.reply)
		},
		DescribeState: func(state any) string {
			s, _ := state.(intent)
			return s.describe()
		},
	}
	return m.ToModel()
}

// step returns what the intent may be afterwards; nothing when the contract
// does not allow the answer here.
func (s intent) step(in call, out observed) []intent {
	switch {
	case out.reply == nil:
		return s.pending(in, out.window)
	case out.reply.Err == wordFull:
		return []intent{s}
	case in.Verb == claim:
		return s.claim(in, out)
	case in.Verb == renew:
		return s.renew(in, out)
	case in.Verb == settle:
		return s.settle(in, out)
	default:
		return s.lookup(out)
	}
}

// expires returns when the record is forgotten.
func (s *intent) expires() span {
	if s.state == semel.StateClaimed {
		return s.lease.plus(s.retained)
	}
	return s.settled.plus(s.retained)
}

// mayBeAbsent reports whether the record can be absent within the window.
func (s *intent) mayBeAbsent(w span) bool { return !s.there || s.expires().from <= w.to }

// mayBeThere reports whether it can be there.
func (s *intent) mayBeThere(w span) bool { return s.there && s.expires().to > w.from }

// mayHave reports whether the record can have the fence.
func (s *intent) mayHave(f semel.Fence) bool {
	return s.there && f != 0 && (s.fence == f || s.fence == 0 && f > s.above)
}

// with returns the record with a fence that is shown now.
func (s intent) with(f semel.Fence) intent {
	s.fence, s.above = f, max(s.above, f)
	return s
}

func (s *intent) live() bool { return s.state == semel.StateClaimed || s.state == semel.StateUnknown }

func (s intent) lookup(out observed) []intent {
	switch {
	case out.reply.Err == wordNotFound && s.mayBeAbsent(out.window):
		return []intent{s}
	case out.reply.Err == "" && out.reply.Seen != nil:
		return s.read(out.reply.Seen, out.window)
	}
	return nil
}

// read compares the record with one that was shown, and learns from it.
func (s intent) read(r *seen, w span) []intent {
	same := s.there && s.state == r.State && s.mayHave(r.Fence) && s.owner == r.Owner && s.attempt == r.Attempt &&
		s.outcome == r.Outcome && s.kept == r.Kept && s.claimed.has(r.Claimed)
	if s.state == semel.StateCompleted {
		w.to += rememberedMS
	}
	if !same || !w.has(r.Read) || r.Read >= r.Expires {
		return nil
	}
	s = s.with(r.Fence)
	s.claimed = instant(r.Claimed)
	end := r.Lease
	if s.state == semel.StateClaimed {
		if r.Settled != 0 || !s.lease.has(r.Lease) {
			return nil
		}
		s.lease = instant(r.Lease)
	} else {
		if !s.settled.has(r.Settled) {
			return nil
		}
		s.settled, end = instant(r.Settled), r.Settled
	}
	if r.Expires != end+s.retained {
		return nil
	}
	return []intent{s}
}

func (s intent) claim(in call, out observed) []intent {
	r := out.reply.Seen
	if out.reply.Err != "" || r == nil {
		return nil
	}
	lapsed := r.State == semel.StateClaimed && r.Read >= r.Lease
	mine := r.State == semel.StateClaimed && !lapsed && r.Owner == in.Owner
	if !out.reply.Won {
		if mine || in.Fence == r.Fence && (lapsed || r.State == semel.StateUnknown) {
			return nil // it wins
		}
		return s.read(r, out.window)
	}
	if !mine || !out.window.has(r.Read) {
		return nil
	}
	next := s.read(r, out.window) // the repetition of a claim
	if s.wins(in, r, out) {
		next = append(next, intent{
			there: true, state: r.State, fence: r.Fence, above: r.Fence, owner: r.Owner, attempt: r.Attempt,
			claimed: instant(r.Claimed), lease: instant(r.Lease), retained: in.Retention,
		})
	}
	return next
}

// wins reports whether a claim can have got what was shown.
func (s *intent) wins(in call, r *seen, out observed) bool {
	w := out.window
	exact := r.Fence > max(s.above, s.fence) && w.has(r.Claimed) && r.Outcome == "" && !r.Kept && r.Settled == 0 &&
		r.Lease == r.Claimed+in.Lease && r.Expires == r.Lease+in.Retention
	at := instant(r.Claimed)
	fresh := r.Attempt == 1 && (s.mayBeAbsent(at) || out.removes && s.mayBeAbsent(w))
	return exact && (fresh || r.Attempt == s.attempt+1 && s.mayBeThere(at) && s.mayBeTaken(in, at))
}

// mayBeTaken reports whether the claim can take the record over.
func (s *intent) mayBeTaken(in call, w span) bool {
	return s.mayHave(in.Fence) && (s.state == semel.StateUnknown || s.state == semel.StateClaimed && s.lease.from <= w.to)
}

func (s intent) renew(in call, out observed) []intent {
	mine := s.mayHave(in.Fence) && s.state == semel.StateClaimed
	switch {
	case out.reply.Err == "" && mine && s.mayBeThere(out.window):
		s = s.with(in.Fence)
		s.lease = out.window.plus(in.Lease)
		return []intent{s}
	case out.reply.Err == wordLost && (!mine || s.fence == 0 || s.mayBeAbsent(out.window)):
		return []intent{s}
	}
	return nil
}

func (s intent) settle(in call, out observed) (next []intent) {
	mine := s.mayHave(in.Fence) && s.mayBeThere(out.window)
	same := s.state == in.To && s.outcome == in.Outcome && s.kept == in.Kept
	switch out.reply.Err {
	case "":
		if in.To == semel.StateReleased && s.mayBeAbsent(out.window) {
			next = append(next, s)
		}
		switch {
		case mine && same:
			next = append(next, s.with(in.Fence))
		case mine && s.live():
			next = append(next, s.with(in.Fence).settledAs(in, out.window))
		}
	case wordSettled:
		if mine && !same && !s.live() {
			next = append(next, s.with(in.Fence))
		}
	case wordLost:
		other := s.fence != in.Fence && s.mayBeThere(out.window)
		if other || in.To != semel.StateReleased && s.mayBeAbsent(out.window) {
			next = append(next, s)
		}
	}
	return next
}

func (s intent) settledAs(in call, w span) intent {
	if in.To == semel.StateReleased {
		return intent{above: s.above}
	}
	s.state, s.outcome, s.kept, s.settled, s.lease, s.retained = in.To, in.Outcome, in.Kept, w, span{}, in.Retention
	return s
}

// pending takes a step without an answer. That it is never taken is the same as
// that it is taken last, so what it can do, it does here.
func (s intent) pending(in call, w span) (next []intent) {
	switch in.Verb {
	case lookup:
	case claim:
		fresh := intent{
			there: true, state: semel.StateClaimed, above: s.above, owner: in.Owner, attempt: 1,
			claimed: w, lease: w.plus(in.Lease), retained: in.Retention,
		}
		if s.mayBeAbsent(w) {
			next = append(next, fresh)
		}
		if s.mayBeTaken(in, w) {
			fresh.attempt, fresh.above = s.attempt+1, max(s.above, in.Fence)
			next = append(next, fresh)
		}
	case renew:
		if s.mayHave(in.Fence) && s.state == semel.StateClaimed {
			renewed := s.with(in.Fence)
			renewed.lease = w.plus(in.Lease)
			next = append(next, renewed)
		}
	case settle:
		if s.mayHave(in.Fence) && s.live() {
			next = append(next, s.with(in.Fence).settledAs(in, w))
		}
	}
	if len(next) == 0 || s.there && s.fence == 0 {
		next = append(next, s)
	}
	return next
}

// describe prints an operation.
func (in call) describe(out *reply) string {
	text := string(in.Verb)
	switch in.Verb {
	case claim:
		text = fmt.Sprintf("claim(owner %.8s, take over %d, %d ms)", in.Owner, in.Fence, in.Lease)
	case renew:
		text = fmt.Sprintf("renew(%d, %d ms)", in.Fence, in.Lease)
	case settle:
		text = fmt.Sprintf("settle(%d, %v %q)", in.Fence, in.To, in.Outcome)
	case lookup:
	}
	switch {
	case out == nil:
		return text + " = ?"
	case out.Err != "":
		return text + " = " + out.Err
	case out.Seen == nil:
		return text + " = done"
	}
	r := out.Seen
	return fmt.Sprintf("%s = won %v, %v fence %d owner %.8s attempt %d %q, claimed %d, lease until %d, settled %d, expires %d, read %d",
		text, out.Won, r.State, r.Fence, r.Owner, r.Attempt, r.Outcome, r.Claimed, r.Lease, r.Settled, r.Expires, r.Read)
}

// describe prints the state.
func (s intent) describe() string {
	if !s.there {
		return fmt.Sprintf("absent, fences above %d", s.above)
	}
	return fmt.Sprintf("%v fence %d (above %d) owner %.8s attempt %d %q, claimed %v, lease until %v, settled %v, expires %v",
		s.state, s.fence, s.above, s.owner, s.attempt, s.outcome, s.claimed, s.lease, s.settled, s.expires())
}
