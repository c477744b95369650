package machine

// ClaimAnswer is what a claim does to a record.
type ClaimAnswer uint8

const (
	// Stands says: nothing changes, and the claim is not won.
	Stands ClaimAnswer = iota
	// Fresh says: won, with a new record and a new fence.
	Fresh
	// TakenOver says: won, with a new fence over the record, whose Attempt counts on.
	TakenOver
	// Repeated says: won before, by the same attempt; the record stays as it stands.
	Repeated
)

// Claim says what a claim does. takeOver is the fence of the record that it
// may take over, or 0. sameOwner: its owner is the record's, and not zero.
func Claim(rec Record, takeOver uint64, sameOwner bool) ClaimAnswer {
	return Table(0).Claim(rec, takeOver, sameOwner)
}

// Claim is the package's Claim of this table.
func (t Table) Claim(rec Record, takeOver uint64, sameOwner bool) ClaimAnswer {
	switch {
	case rec.State == Absent:
		return Fresh
	case takeOver != 0 && takeOver == rec.Fence && t.open(rec):
		return TakenOver
	case rec.State == Claimed && !rec.Lapsed && (sameOwner || t.lacks(LineRepeatOwner)):
		return Repeated
	}
	return Stands
}

// open reports whether nobody holds the record, and nobody has answered it.
func (t Table) open(rec Record) bool {
	return rec.State == Unknown || rec.State == Claimed && (rec.Lapsed || t.lacks(LineLapse))
}

// Renew reports whether a renewal by this fence moves the record's deadlines,
// lapsed or not. Otherwise the claim is lost and nothing changes.
func Renew(rec Record, fence uint64) bool { return Table(0).Renew(rec, fence) }

// Renew is the package's Renew of this table.
func (t Table) Renew(rec Record, fence uint64) bool {
	return rec.State == Claimed && (rec.Fence == fence || t.lacks(LineRenewFence))
}

// SettleAnswer is what a settlement does to a record.
type SettleAnswer uint8

const (
	// Write says: the record is in the state now, with what the settlement carries.
	Write SettleAnswer = iota
	// Remove says: the record is absent now.
	Remove
	// Nothing says: it was settled so before; nothing changes and there is no error.
	Nothing
	// Lost says: the record is absent or has another fence; nothing changes.
	Lost
	// Settled says: this fence was settled otherwise before; nothing changes.
	Settled
)

// Settle says what a settlement by this fence, lapsed or not, does. same: the
// record has the settlement's outcome already, and keeps it the same way.
func Settle(rec Record, fence uint64, to State, same bool) SettleAnswer {
	return Table(0).Settle(rec, fence, to, same)
}

// Settle is the package's Settle of this table.
func (t Table) Settle(rec Record, fence uint64, to State, same bool) SettleAnswer {
	switch {
	case rec.State == Absent && to == Released:
		return Nothing
	case rec.State == Absent, rec.Fence != fence && !t.lacks(LineSettleFence):
		return Lost
	case rec.State == to && same:
		return Nothing
	case rec.State == Completed || rec.State == Cancelled:
		return Settled
	case to == Released, to == Cancelled && t.lacks(LineTombstone):
		return Remove
	}
	return Write
}
