package operatorview

import (
	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/operator"
)

// AuditEntry is an entry of the audit trail in JSON. Its fields are a contract,
// as those of [Record] are.
type AuditEntry struct {
	At       string      `json:"at"`
	Operator string      `json:"operator"`
	Via      string      `json:"via"`
	Act      string      `json:"act"` // resolve, cancel or reconcile
	Reason   string      `json:"reason"`
	Digest   string      `json:"digest"`
	Scope    string      `json:"scope"` // empty where keys are hidden
	Name     string      `json:"name"`
	Before   string      `json:"before"` // the state before
	As       string      `json:"as"`     // completed, released or cancelled
	Fence    semel.Fence `json:"fence"`  // of the record, if the verdict took effect
	Position semel.Fence `json:"position"`
}

// ViewAudit returns the entry as JSON shows it.
func ViewAudit(e *operator.Entry) AuditEntry {
	return AuditEntry{
		At: Time(e.At), Operator: e.Operator.Name, Via: e.Operator.Via, Act: e.Act, Reason: e.Reason,
		Digest: e.Digest.String(), Scope: e.Scope, Name: e.Name,
		Before: e.Before.String(), As: e.As.String(), Fence: e.Fence, Position: e.Position,
	}
}
