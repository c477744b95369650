package outcomelog

import (
	"context"
	"slices"
	"sync"
)

// NoteKey is the key under which a context has its [*Note]. Doors set it; all
// other code uses [NoteFrom].
type NoteKey struct{}

// Note carries the outcome from the work to the door of its request: a status
// alone does not say whether a row was created or found, or which rule refused
// it. The zero Note is empty. It is safe for concurrent use; the last word
// counts.
type Note struct {
	mu      sync.Mutex // guards the fields below
	outcome Outcome
	rule    string
	fields  []string
}

// NoteFrom returns the note of the request that ctx belongs to; nil where there
// is none. Say works on nil as well.
func NoteFrom(ctx context.Context) *Note {
	note, _ := ctx.Value(NoteKey{}).(*Note)
	return note
}

// Say records the outcome of the work, and the rule that decided.
func (n *Note) Say(outcome Outcome, rule string, fields []string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.outcome, n.rule, n.fields = outcome, rule, slices.Clone(fields)
}

// Said returns what Say recorded, or zeros.
func (n *Note) Said() (outcome Outcome, rule string, fields []string) {
	if n == nil {
		return "", "", nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.outcome, n.rule, slices.Clone(n.fields)
}
