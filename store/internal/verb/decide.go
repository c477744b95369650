package verb

import (
	"bytes"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/transition"
)

// view is a row as the transition table sees it. A row can outlive its record:
// one that was released or has expired is absent.
func view(rec *semel.Record) transition.Record {
	if Absent(rec) {
		return transition.Record{}
	}
	return transition.Record{State: transition.State(rec.State), Lapsed: rec.Lapsed(), Fence: uint64(rec.Fence)}
}

// Absent reports whether a row no longer counts as a record: it was released, or
// had expired when it was read. A nil row is absent.
func Absent(rec *semel.Record) bool {
	return rec == nil || rec.State == semel.StateReleased || rec.State == semel.StateAbsent ||
		transition.Reached(rec.ReadAt.UnixMilli(), rec.ExpiresAt.UnixMilli())
}

// Claim returns what a claim does to a row as it was read. After Fresh and
// TakenOver the store writes, on condition that the row has not changed.
func Claim(rec *semel.Record, p *semel.ClaimParams) transition.ClaimAnswer {
	return transition.Claim(view(rec), uint64(p.TakeOver), rec != nil && rec.Owner == p.Owner && p.Owner != semel.Owner{})
}

// Repeated reports whether a claim that wrote nothing is won nevertheless: the
// record is the caller's own, from a call whose reply was lost.
func Repeated(rec *semel.Record, p *semel.ClaimParams) bool {
	return Claim(rec, p) == transition.Repeated
}

// Renewable reports whether a renewal by this fence holds the row as it was read.
func Renewable(rec *semel.Record, f semel.Fence) bool { return transition.Renew(view(rec), uint64(f)) }

// Settle compares a settlement, in the form that [Settlement] gives it, with the
// row that it meets, nil for none. done: it changes nothing, because it was made
// before. Otherwise err says why it cannot be made; nil means that it can.
func Settle(rec *semel.Record, f semel.Fence, v *semel.Settlement) (done bool, err error) {
	same := rec != nil && rec.Kept == v.Kept && bytes.Equal(rec.Outcome, v.Outcome)
	answer := transition.Settle(view(rec), uint64(f), transition.State(v.State), same)
	return answer == transition.Nothing, Refusal(answer)
}

// Refusal is the error of a settlement that changes nothing; nil for one that
// was made before.
func Refusal(answer transition.SettleAnswer) error {
	switch answer {
	case transition.Lost:
		return semel.ErrLost
	case transition.Settled:
		return semel.ErrSettled
	case transition.Nothing, transition.Write, transition.Remove:
	}
	return nil
}
