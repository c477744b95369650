package outcomelog

import (
	"context"
	"slices"
	"sync"
)

// NoteKey is the key under which a context has its [*Note]. Doors make it
// answer; everybody else uses [NoteFrom].
type NoteKey struct{}

// Note is what the work under a request says of its outcome to the door that
// let the request in: a status alone does not say whether a row was created or
// found, or which rule refused it. The zero Note is empty. It is safe for
// concurrent use; the last word counts.
type Note struct {
	mu      sync.Mutex // guards the fields below
	outcome Outcome
	rule    string
	fields  []string
}

// NoteFrom returns the note of the request that ctx belongs to; nil where there
// is none, which takes every word as well.
func NoteFrom(ctx context.Context) *Note {
	note, _ := ctx.Value(NoteKey{}).(*Note)
	return note
}

// Say says what the work came to, by which rule.
func (n *Note) Say(outcome Outcome, rule string, fields []string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.outcome, n.rule, n.fields = outcome, rule, slices.Clone(fields)
}

// Said returns what was said; zeros where nothing was.
func (n *Note) Said() (outcome Outcome, rule string, fields []string) {
	if n == nil {
		return "", "", nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.outcome, n.rule, slices.Clone(n.fields)
}
