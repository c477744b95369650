package operatorview

import (
	"encoding/hex"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/envelope"
	"github.com/semel-dev/semel/operator"
)

const timeFormat = "2006-01-02T15:04:05.000Z07:00"

// Record is a record in JSON. Its fields are a contract: new ones may come, none
// changes its meaning.
type Record struct {
	Digest      string      `json:"digest"`
	Scope       string      `json:"scope"` // empty where keys are hidden
	Name        string      `json:"name"`
	State       string      `json:"state"`  // claimed, completed, failed, unreadable, unknown, cancelled or released
	Lapsed      bool        `json:"lapsed"` // unknown because the holder ended without an answer
	Attempt     int         `json:"attempt"`
	Fence       semel.Fence `json:"fence"`
	Fingerprint string      `json:"fingerprint"`
	ClaimedAt   string      `json:"claimed_at,omitempty"`
	SettledAt   string      `json:"settled_at,omitempty"`
	LeaseUntil  string      `json:"lease_until,omitempty"`
	ExpiresAt   string      `json:"expires_at,omitempty"`
	ReadAt      string      `json:"read_at,omitempty"`
	Kept        bool        `json:"kept"` // the whole answer is stored
	Note        string      `json:"note,omitempty"`
	Outcome     *Outcome    `json:"outcome,omitempty"`
	Failure     *Failure    `json:"failure,omitempty"` // of a failed one
	Repeats     *Repeats    `json:"repeats,omitempty"` // of a record that is shown alone, by a process that meets some
}

// maxErrorBytes bounds the words of a final error.
const maxErrorBytes = 1 << 10

// Failure is a final error in JSON. Its fields are a contract, like the ones of [Record].
type Failure struct {
	Error  string   `json:"error"`            // its words, at most 1 KiB
	Step   string   `json:"step,omitempty"`   // of a flow: the step that failed
	Undone []string `json:"undone,omitempty"` // of a flow: the steps that were undone, the last one first
}

func viewFailure(rec *semel.Record) *Failure {
	f, ok := envelope.FailureOf(rec.Outcome, maxErrorBytes)
	if !ok || rec.State != semel.StateCompleted {
		return nil
	}
	return &Failure{f.Message, f.Step, f.Undone}
}

// ViewRecord returns the record as JSON shows it.
func ViewRecord(rec *semel.Record) Record {
	return Record{
		Digest: rec.Digest.String(), Scope: rec.Scope, Name: rec.Name,
		State: operator.State(rec).String(), Lapsed: rec.Lapsed(), Attempt: rec.Attempt, Fence: rec.Fence,
		Fingerprint: hex.EncodeToString(rec.Fingerprint[:]),
		ClaimedAt:   Time(rec.ClaimedAt), SettledAt: Time(rec.SettledAt),
		LeaseUntil: Time(rec.LeaseUntil), ExpiresAt: Time(rec.ExpiresAt), ReadAt: Time(rec.ReadAt),
		Kept: rec.Kept, Note: rec.Note, Outcome: viewOutcome(rec), Failure: viewFailure(rec),
	}
}

// SearchStates returns the states that can be searched for.
func SearchStates() []semel.State {
	return []semel.State{semel.StateClaimed, semel.StateCompleted, semel.StateFailed, semel.StateUnreadable, semel.StateUnknown, semel.StateCancelled}
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

// Time writes a time to the millisecond, in UTC; the zero time is empty.
func Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeFormat)
}
