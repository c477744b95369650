// Package verdict holds what the guard agrees on with packages operator, flow and inbox. The guard's
// methods that settle a record outside of its policy take a [By], which no other
// module can name: settling by hand goes through package operator, which writes the
// audit trail first.
package verdict

const (
	// OwnScopes begins the scopes of records that parts of this module keep for themselves.
	OwnScopes = "semel:"
	// AuditScope is the scope of the audit trail's own records. No intent can have it.
	AuditScope = OwnScopes + "audit"
	// FlowScopes begins the scope of a flow's record.
	FlowScopes = OwnScopes + "flow:"
	// StepScopes and the digest of a flow's key are the scope of its steps.
	StepScopes = OwnScopes + "step:"
	// OriginName and a flow's fingerprint name the record among them that tells when it began.
	OriginName = "origin "
)

// By says on whose account a record is settled that its holder did not settle. It is
// a struct, because a constant of another module would convert to a number or a string.
type By struct{ operator bool }

// Operator settles on a person's word. No quota counts or refuses it.
func Operator() By { return By{operator: true} }

// Reconciler settles on the word of a policy's function, without a caller waiting.
func Reconciler() By { return By{} }

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
