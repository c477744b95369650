package desk

import (
	"slices"

	"github.com/semel-dev/semel"
)

// outcomePage is the size of a page whose records come with their answers,
// which may be large.
const outcomePage = 20

// Search says which records an operator wants to see.
type Search struct {
	States      []semel.State // any of these, as [State] counts; empty for all
	Scope, Name string        // empty for any; the audit trail is shown to who asks for its scope only
	Before      semel.Fence   // only fences below this one, when not zero
}

// SearchStates returns the states that can be searched for.
func SearchStates() []semel.State {
	return []semel.State{semel.StateClaimed, semel.StateCompleted, semel.StateUnknown, semel.StateCancelled}
}

// ParseState returns the state of that name, if it can be searched for.
func ParseState(name string) (semel.State, bool) {
	for _, s := range SearchStates() {
		if s.String() == name {
			return s, true
		}
	}
	return semel.StateAbsent, false
}

// Params asks the store for a page of what may be wanted, with outcomes.
func (s *Search) Params() semel.ListParams {
	p := semel.ListParams{
		Scope: s.Scope, Name: s.Name, Before: s.Before, Limit: outcomePage, Outcomes: true,
		States: slices.Clone(s.States),
	}
	if slices.Contains(p.States, semel.StateUnknown) && !slices.Contains(p.States, semel.StateClaimed) {
		p.States = append(p.States, semel.StateClaimed) // lapsed ones count as unknown
	}
	return p
}

// Shows reports whether a record that the store returned is wanted.
func (s *Search) Shows(rec *semel.Record) bool {
	if len(s.States) > 0 && !slices.Contains(s.States, State(rec)) {
		return false
	}
	return rec.Scope != semel.AuditScope || s.Scope == semel.AuditScope
}
