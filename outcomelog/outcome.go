package outcomelog

import (
	"context"
	"log/slog"
	"slices"
	"sync"
)

// Outcome is the outcome of one request, in the same word at every door: in its
// log, metrics and traces.
type Outcome string

// The outcomes of a request that ran.
const (
	// Claimed: it has the right to run. Traces of the guard report no more than that.
	Claimed Outcome = "claimed"
	// Executed: the handler ran, and its answer was recorded.
	Executed Outcome = "executed"
	// Created: it was done, here and now. For an upsert, this includes an update.
	Created Outcome = "created"
	// ReturnedExisting: it was there already, and that was the answer.
	ReturnedExisting Outcome = "returned-existing"
	// Rejected: the application or the database refused it.
	Rejected Outcome = "rejected"
	// Failed: it was refused, and work under it ended with a final error, which its record keeps.
	Failed Outcome = "failed"
	// Released: it ran without an effect; a retry runs again.
	Released Outcome = "released"
	// RolledBack: it ran, and the database undid it; a retry runs again.
	RolledBack Outcome = "rolled-back"
	// NotStored: it ran, and its answer could not be recorded.
	NotStored Outcome = "not-stored"
	// Unprotected: it ran although the store could not be reached.
	Unprotected Outcome = "unprotected"
	// Unknown: it ran without a known outcome, or was refused for that reason.
	Unknown Outcome = "unknown"
)

// The outcomes of a repetition, which does not run.
const (
	// Replayed: it got the recorded answer.
	Replayed Outcome = "replayed"
	// Merged: it waited for the running request and got its answer.
	Merged Outcome = "merged"
	// InFlight: the first request is still running.
	InFlight Outcome = "in-flight"
	// Mismatch: its key was used for a different request.
	Mismatch Outcome = "mismatch"
	// NotKept: the first request completed, but its answer was not kept.
	NotKept Outcome = "not-kept"
	// Unreadable: the first request completed, but its answer cannot be decrypted.
	Unreadable Outcome = "unreadable"
	// Duplicate: the first request completed, and this mode replays nothing.
	Duplicate Outcome = "duplicate"
	// Cancelled: the request was cancelled before it ran.
	Cancelled Outcome = "cancelled"
	// Denied: the caller may no longer see the answer.
	Denied Outcome = "denied"
)

// The outcomes of a request that did not run for other reasons.
const (
	// Quota: its scope has reached its quota.
	Quota Outcome = "quota"
	// Unavailable: the store could not be reached.
	Unavailable Outcome = "unavailable"
	// ShuttingDown: the guard was closed.
	ShuttingDown Outcome = "shutting-down"
	// Aborted: the caller went away while it waited.
	Aborted Outcome = "aborted"
	// KeyMissing: it has no key, and needs one.
	KeyMissing Outcome = "key-missing"
	// KeyInvalid: its key or scope is not valid.
	KeyInvalid Outcome = "key-invalid"
	// AmbiguousRequest: it can be read in two ways that the gateway treats differently.
	AmbiguousRequest Outcome = "ambiguous-request"
	// FormStale: the token of its form is no longer valid.
	FormStale Outcome = "form-stale"
	// Unverified: its signature is missing, wrong or too old.
	Unverified Outcome = "unverified"
	// BodyTooLarge: its body is longer than allowed.
	BodyTooLarge Outcome = "body-too-large"
	// BodyIncomplete: its body did not arrive completely.
	BodyIncomplete Outcome = "body-incomplete"
	// Internal: a function of the door's options returned an error.
	Internal Outcome = "internal"
)

// Level is that of a log line about the outcome: a warning where an operator
// should look, an error where the service is at fault.
func (o Outcome) Level() slog.Level {
	switch o { //nolint:exhaustive // the rest is business as usual.
	case Unknown, NotStored, Unprotected, Unavailable, Unreadable:
		return slog.LevelWarn
	case Internal:
		return slog.LevelError
	}
	return slog.LevelInfo
}

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

// NoteFrom returns the note of the request that ctx belongs to, or nil. Say
// works on nil.
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
