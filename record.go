package semel

import (
	"time"

	"github.com/semel-dev/semel/internal/transition"
)

// State is the state of an intent. The package documentation draws the state
// machine.
type State uint8

// The states of an intent.
const (
	// StateAbsent is the zero State: the store remembers nothing.
	StateAbsent State = iota
	// StateClaimed: an attempt holds the claim, or held it until the lease ran out
	// without an answer (see [Record.Lapsed]).
	StateClaimed
	// StateCompleted: it happened and the outcome is recorded.
	StateCompleted
	// StateReleased: nothing happened. It is a settlement only; a store keeps
	// no such record.
	StateReleased
	// StateUnknown: it may or may not have happened.
	StateUnknown
	// StateCancelled: it must not happen; a tombstone that stops a late original.
	StateCancelled
	// StateFailed: it ended with a final error ([MarkFinal], or a flow that failed), which is the
	// recorded answer. A store keeps it as StateCompleted, and so do [Record] and [Settlement];
	// [SettleInfo], operators and pages tell it from the answer.
	StateFailed
	// StateUnreadable: it completed or failed, and the recorded answer that says which cannot be
	// decrypted. It is for operators and pages only, as StateFailed is.
	StateUnreadable
)

// String returns the word that SQL, JSON and logs use.
func (s State) String() string {
	switch s {
	case StateAbsent:
		return "absent"
	case StateClaimed:
		return "claimed"
	case StateCompleted:
		return "completed"
	case StateReleased:
		return "released"
	case StateUnknown:
		return "unknown"
	case StateCancelled:
		return "cancelled"
	case StateFailed:
		return "failed"
	case StateUnreadable:
		return "unreadable"
	}
	return "invalid"
}

// Owner is a random token that a [Guard] mints for one attempt to claim. It
// makes [Store.Claim] safe to repeat when its reply was lost. The zero Owner
// means none.
type Owner [16]byte

// Record holds what the store remembers of an intent. All times are the store's
// clock (promise 9), in UTC, to the millisecond; ReadAt is that clock when the
// record was read, so differences to it are meaningful on any host.
type Record struct {
	Digest      Digest      // the identity of the intent
	Scope       string      // empty when the guard hides keys
	Name        string      // empty when the guard hides keys
	Fingerprint Fingerprint // of the request of the first claim
	State       State       // a lapsed claim is StateClaimed; see Lapsed
	Fence       Fence       // of the present claim, or of the one that settled
	Owner       Owner       // of the present claim, or of the one that settled
	Attempt     int         // 1 for the first claim, one more for every takeover

	// Outcome is the recorded answer of a completed intent, or what is known
	// of the answer when it was not Kept; nil for nothing, and in other states.
	// Guard and stores do not look inside. The reader must not change it.
	Outcome []byte
	// Kept is false for a completed intent whose answer was not stored in
	// full (too large, a stream, dedup mode): it happened, and is not
	// executed again, but its answer cannot be replayed.
	Kept bool
	// Note is a short reason for people, such as why the outcome is unknown.
	Note string

	ClaimedAt  time.Time // when the present fence was assigned
	SettledAt  time.Time // zero while claimed
	LeaseUntil time.Time // when the claim lapses unless renewed
	ExpiresAt  time.Time // when the record is forgotten
	ReadAt     time.Time // the store's clock when this record was read

	// Waited is the time for which the [Guard.Begin] or [Guard.BeginTx] that
	// returned this record waited for a running twin. Stores leave it zero.
	Waited time.Duration
}

// Lapsed reports whether the record is a claim whose lease had run out
// without an answer: its holder crashed, hangs or lost the store.
func (r *Record) Lapsed() bool {
	return r.State == StateClaimed && transition.Reached(r.ReadAt.UnixMilli(), r.LeaseUntil.UnixMilli())
}

// LeaseLeft returns the rest of the claim's lease when it was read; 0 for a
// lapsed claim and for every other state.
func (r *Record) LeaseLeft() time.Duration {
	if r.State != StateClaimed {
		return 0
	}
	return max(0, r.LeaseUntil.Sub(r.ReadAt))
}

// RetentionLeft returns the rest of the record's retention when it was read.
func (r *Record) RetentionLeft() time.Duration {
	return max(0, r.ExpiresAt.Sub(r.ReadAt))
}
