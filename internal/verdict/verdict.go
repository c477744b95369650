// Package verdict holds what the guard agrees on with packages operator, flow and inbox. The guard's
// methods that settle a record outside of its policy take a [By], which no other
// module can name: settling by hand goes through package operator, which writes the
// audit trail first.
package verdict

import (
	"context"
	"strings"
	"time"
)

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

// Verbs of a guard and of a claim, set by the root package; package seize gives them their types.
var Seize, Settle, CompleteIn any //nolint:gochecknoglobals,revive // set once, before main.

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

// Transaction is a transaction of a guard, carried by the context of the work.
type Transaction struct {
	Store   any             // holds the guard's records; wrappers are removed
	Outside context.Context //nolint:containedctx // the context without it.
}

// TransactionKey is the key of the innermost *Transaction in a context.
type TransactionKey struct{}

// TransactionOf returns the innermost transaction under which ctx works, or nil.
func TransactionOf(ctx context.Context) *Transaction {
	t, _ := ctx.Value(TransactionKey{}).(*Transaction)
	return t
}

// sinceMark begins the part of a note that holds since when the outcome is unknown.
const sinceMark = " [since "

// WithSince returns the note of a reconciliation that could not tell, in this many bytes at most: what it found, and since
// when the outcome is unknown, by the store's clock.
func WithSince(found string, since time.Time, most int) string {
	mark := sinceMark + since.UTC().Format(time.RFC3339Nano) + "]"
	return strings.ToValidUTF8(found[:min(len(found), most-len(mark))], "") + mark
}

// Since splits a note of [WithSince]. Of any other note, ok is false.
func Since(note string) (found string, since time.Time, ok bool) {
	at := strings.LastIndex(note, sinceMark)
	if at < 0 {
		return note, time.Time{}, false
	}
	since, err := time.Parse(time.RFC3339Nano, strings.TrimSuffix(note[at+len(sinceMark):], "]"))
	if err != nil {
		return note, time.Time{}, false
	}
	return note[:at], since, true
}
