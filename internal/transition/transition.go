// Package transition is the transition table of Semel: what each verb of a store
// does to a record, and what a guard does about a record that it found. It is pure:
// no clock, no memory, no input or output, and it is written once.
//
//	        Claim: Fresh                 Settle(Completed): Write
//	Absent ──────────────▶ Claimed(fence n) ──────────────▶ Completed ──Reached──▶ Absent
//	   ▲                     │  │   │ Settle(Unknown): Write, or the lease is Reached
//	   │ Settle(Released):   │  │   └───────────▶ Unknown ──Claim: TakenOver──▶ Claimed(fence n+1)
//	   │ Remove              │  │ Renew                 │ Settle(Cancelled): Write
//	   └─────────────────────┘  └──▶ Claimed(fence n)   └──▶ Cancelled (tombstone)
//
// It is used by the guard (begin.go, claim.go and record.go of the root package),
// the locks of dbguard, store/memstore, store/internal/verb for what the other
// stores read back, the model behind the rule "model/sequences" of
// store/storetest, and the exhaustive exploration of proof/model. The
// SQL and Lua of the other stores cannot call it; that rule ties them to it,
// because it compares whatever a store answers, after every verb of a random
// sequence, with what this table answers.
package transition

// ClaimAnswer says how a claim changes a record.
type ClaimAnswer uint8

const (
	// NotWon says: nothing changes, and the claim is not won.
	NotWon ClaimAnswer = iota
	// Fresh says: won, with a new record and a new fence.
	Fresh
	// TakenOver says: won, with a new fence over the record, whose Attempt counts on.
	TakenOver
	// Repeated says: won before, by the same attempt; the record stays as it is.
	Repeated
)

// Claim says what a claim does. takeOver is the fence of the record that it
// may take over, or 0. sameOwner: its owner is the record's, and not zero.
func Claim(rec Record, takeOver uint64, sameOwner bool) ClaimAnswer {
	switch {
	case rec.State == Absent:
		return Fresh
	case takeOver != 0 && takeOver == rec.Fence && rec.open():
		return TakenOver
	case rec.State == Claimed && !rec.Lapsed && sameOwner:
		return Repeated
	}
	return NotWon
}

// open reports whether the record has neither a holder nor an answer.
func (r Record) open() bool {
	return r.State == Unknown || r.State == Claimed && r.Lapsed
}

// Renew reports whether a renewal by this fence moves the record's deadlines,
// lapsed or not. Otherwise the claim is lost and nothing changes.
func Renew(rec Record, fence uint64) bool {
	return rec.State == Claimed && rec.Fence == fence
}

// SettleAnswer says how a settlement changes a record.
type SettleAnswer uint8

const (
	// Write says: the record is in the state now, with what the settlement carries.
	Write SettleAnswer = iota
	// Remove says: the record is absent now.
	Remove
	// Nothing says: it was settled so before; nothing changes, without an error.
	Nothing
	// Lost says: the record is absent or has another fence; nothing changes.
	Lost
	// Settled says: this fence was settled otherwise before; nothing changes.
	Settled
)

// Settle says what a settlement by this fence, lapsed or not, does. same: the
// record has the settlement's outcome already, and keeps it the same way.
func Settle(rec Record, fence uint64, to State, same bool) SettleAnswer {
	switch {
	case rec.State == Absent && to == Released:
		return Nothing
	case rec.State == Absent, rec.Fence != fence:
		return Lost
	case rec.State == to && same:
		return Nothing
	case rec.State == Completed || rec.State == Cancelled:
		return Settled
	case to == Released:
		return Remove
	}
	return Write
}

// State is the state of an intent. The numbers are those of the states of
// package semel.
type State uint8

// The states, described at those of package semel.
const (
	Absent State = iota
	Claimed
	Completed
	Released
	Unknown
	Cancelled
)

// Record holds what the table needs of a record. The zero Record is absent;
// so is one that has expired (see [Reached]).
type Record struct {
	State  State
	Lapsed bool // it is claimed, and its lease is reached
	Fence  uint64
}

// Reached reports whether a deadline has come: from that very instant on. A
// lease that is reached has lapsed, and a record whose expiry is reached is
// absent to every verb and may be swept away. Both in ms of the store's clock.
func Reached(now, deadline int64) bool { return now >= deadline }

// Sweepable reports whether a sweep may remove a record: only one that is
// absent to every verb already, so that sweeping changes nothing.
func Sweepable(now, expires int64) bool { return Reached(now, expires) }

// Deadlines are when a claimed record lapses and when it is forgotten, in ms
// of the store's clock.
type Deadlines struct{ Lapses, Expires int64 }

// ClaimedAt gives the deadlines of a record that is claimed now. The retention
// extends beyond the lease, for a claim that lapses.
func ClaimedAt(now, lease, retention int64) Deadlines {
	return Deadlines{Lapses: now + lease, Expires: now + lease + retention}
}

// RenewedAt moves both deadlines of a record that is renewed now.
func (d Deadlines) RenewedAt(now, lease int64) Deadlines {
	return Deadlines{Lapses: now + lease, Expires: d.Expires + (now + lease - d.Lapses)}
}

// SettledAt gives the expiry of a record that is settled now.
func SettledAt(now, retention int64) int64 { return now + retention }

// Trusted returns how long, by its own clock and from before it asked for it, a
// holder relies on a lease: a tenth is the margin for clocks that run at
// another speed than the store's.
func Trusted[D ~int64](lease D) D { return lease - lease/10 }

// Found describes the record that a guard found in the way of an attempt, as it
// was when it was read.
type Found struct {
	State  State
	Lapsed bool
	Asked  bool // it was asked for the same thing: the fingerprints are equal
	Kept   bool // the answer is there in full
	// NeverRan: it is a claim of this very attempt that lapsed before its
	// reply arrived, with nothing before it.
	NeverRan bool
}

// Policy holds the parts of a guard's policy that matter once an intent was found.
type Policy struct {
	Dedup  bool // a duplicate is only stopped
	Refuse bool // what is unknown stays so until an operator resolves it
}

// Decision says how a guard answers a record that it found.
type Decision uint8

const (
	// TakeOver says: claim it by its fence; then execute, or find out first.
	TakeOver Decision = iota
	// Replay says: give its answer again.
	Replay
	// Wait says: the same intent is being executed; wait, then give up.
	Wait
	// SayCancelled says, as those below it: answer so, and execute nothing.
	SayCancelled
	// SayMismatch says: the key was used for something else. The caller
	// learns no more of it.
	SayMismatch
	// SayDuplicate replaces a replay in dedup mode.
	SayDuplicate
	// SayNotKept says: it happened, and its answer is gone.
	SayNotKept
	// SayUnknown says: it is unknown whether it happened.
	SayUnknown
)

// Decide says what a guard does about a record that it found. The order is part of
// the promise: a mismatch learns nothing, not even that the intent is running.
func Decide(m Found, w Policy) Decision {
	switch {
	case m.State == Cancelled:
		return SayCancelled
	case !m.Asked:
		return SayMismatch
	case m.State == Completed && w.Dedup:
		return SayDuplicate
	case m.State == Completed && !m.Kept:
		return SayNotKept
	case m.State == Completed:
		return Replay
	case m.State == Claimed && !m.Lapsed:
		return Wait
	case w.Refuse && !m.NeverRan:
		return SayUnknown
	}
	return TakeOver
}
