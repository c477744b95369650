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
