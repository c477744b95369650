// Package verdict holds what the guard and package operator agree on. The guard's
// methods that settle a record outside of its policy take a [By], which no other
// module can name: settling by hand goes through package operator, which writes the
// audit trail first.
package verdict

// AuditScope is the scope of the audit trail's own records. No intent can have it.
const AuditScope = "semel:audit"

// By says on whose account a record is settled that its holder did not settle.
type By int

const (
	// Operator settles on a person's word. No quota counts or refuses it.
	Operator By = iota
	// Reconciler settles on the word of a policy's function, without a caller waiting.
	Reconciler
)

// CutNote shortens a note to this many bytes, between two characters.
func CutNote(note string, most int) string {
	if len(note) <= most {
		return note
	}
	const ellipsis = "…"
	cut := most - len(ellipsis)
	for cut > 0 && note[cut]&0xC0 == 0x80 { // do not split a rune
		cut--
	}
	return note[:cut] + ellipsis
}
