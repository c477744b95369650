package storetest

import (
	"errors"
	"fmt"

	"github.com/anishathalye/porcupine"

	"github.com/semel-dev/semel"
)

// linear is one intent in the sequential model of a history. The zero value is
// absent. Fences are taken from the replies; they must grow.
type linear struct {
	rec  snapshot
	last semel.Fence
}

func historyModel() porcupine.Model {
	return porcupine.Model{
		Partition: partition,
		Init:      func() any { return linear{} },
		Step: func(state, input, output any) (bool, any) {
			s, okS := state.(linear)
			in, okIn := input.(call)
			out, okOut := output.(reply)
			if !okS || !okIn || !okOut {
				return false, state
			}
			return s.step(in, out)
		},
		DescribeOperation: func(input, output any) string {
			in, _ := input.(call)
			out, _ := output.(reply)
			return in.describe(out)
		},
		DescribeState: func(state any) string {
			s, _ := state.(linear)
			return fmt.Sprintf("%v fence %d attempt %d lapsed %v %q", s.rec.state, s.rec.fence, s.rec.attempt, s.rec.lapsed, s.rec.answer)
		},
	}
}

// partition splits a history by intent.
func partition(history []porcupine.Operation) [][]porcupine.Operation {
	byDigest := map[semel.Digest][]porcupine.Operation{}
	for _, op := range history {
		in, ok := op.Input.(call)
		if !ok {
			continue
		}
		byDigest[in.digest] = append(byDigest[in.digest], op)
	}
	parts := make([][]porcupine.Operation, 0, len(byDigest))
	for _, ops := range byDigest {
		parts = append(parts, ops)
	}
	return parts
}

// step reports whether the contract allows the reply here, and returns the
// intent afterwards.
func (s linear) step(in call, out reply) (bool, linear) {
	switch in.verb {
	case "lapse":
		s.rec.lapsed = s.rec.state == semel.StateClaimed
		return true, s
	case "expire":
		return true, linear{last: s.last}
	case "lookup":
		if s.absent() {
			return errors.Is(out.err, semel.ErrNotFound), s
		}
		return out.err == nil && out.rec == s.rec, s
	case "renew":
		if s.rec.state != semel.StateClaimed || s.rec.fence != in.fence {
			return errors.Is(out.err, semel.ErrLost), s
		}
		s.rec.lapsed = false
		return out.err == nil, s
	case "claim":
		return s.claim(in, out)
	}
	return s.settle(in, out)
}

func (s linear) absent() bool { return s.rec.state == semel.StateAbsent }

func (s linear) claim(in call, out reply) (bool, linear) {
	open := s.rec.lapsed || s.rec.state == semel.StateUnknown
	if s.absent() || (open && in.fence != 0 && in.fence == s.rec.fence) {
		next := snapshot{
			state: semel.StateClaimed, fence: out.rec.fence, owner: in.owner, attempt: s.rec.attempt + 1,
		}
		return out.won && out.rec == next && next.fence > s.last, linear{rec: next, last: next.fence}
	}
	mine := s.rec.state == semel.StateClaimed && !s.rec.lapsed && s.rec.owner == in.owner
	return out.won == mine && out.rec == s.rec, s
}

func (s linear) settle(in call, out reply) (bool, linear) {
	switch {
	case s.absent() && in.to == semel.StateReleased:
		return out.err == nil, s
	case s.absent() || s.rec.fence != in.fence:
		return errors.Is(out.err, semel.ErrLost), s
	case s.rec.state == in.to && s.rec.answer == in.answer:
		return out.err == nil, s
	case s.rec.state == semel.StateCompleted || s.rec.state == semel.StateCancelled:
		return errors.Is(out.err, semel.ErrSettled), s
	case in.to == semel.StateReleased:
		return out.err == nil, linear{last: s.last}
	}
	s.rec.state, s.rec.answer, s.rec.lapsed = in.to, in.answer, false
	return out.err == nil, s
}

// describe returns one operation as text for people.
func (in call) describe(out reply) string {
	switch in.verb {
	case "claim":
		return fmt.Sprintf("claim(owner %x, take over %d) = won %v, %v fence %d", in.owner[:2], in.fence, out.won, out.rec.state, out.rec.fence)
	case "settle":
		return fmt.Sprintf("settle(%d, %v %q) = %v", in.fence, in.to, in.answer, out.err)
	case "renew":
		return fmt.Sprintf("renew(%d) = %v", in.fence, out.err)
	case "lookup":
		return fmt.Sprintf("lookup() = %v fence %d, %v", out.rec.state, out.rec.fence, out.err)
	}
	return in.verb
}
