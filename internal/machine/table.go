package machine

// Table is the transition table, less the lines that were taken out. The zero
// Table is whole, and is what the functions of this package use.
type Table uint16

// Line is one check of the table that can be taken out, to see what breaks.
type Line uint16

// The lines.
const (
	// LineSettleFence: a settlement names the record's fence.
	LineSettleFence Line = 1 << iota
	// LineRenewFence: a renewal names the record's fence.
	LineRenewFence
	// LineSweepExpiry: only what has expired is swept.
	LineSweepExpiry
	// LineLapse: what is claimed is taken over only when it has lapsed.
	LineLapse
	// LineRepeatOwner: only the owner may repeat a claim.
	LineRepeatOwner
	// LineTrustMargin: a holder relies on a tenth less than its lease.
	LineTrustMargin
	// LineTombstone: what is cancelled is remembered.
	LineTombstone
	// LineFingerprint: what is not asked for the same thing is refused.
	LineFingerprint
)

// Without returns the table less one more line.
func (t Table) Without(l Line) Table { return t | Table(l) }

func (t Table) lacks(l Line) bool { return t&Table(l) != 0 }
