package machine

// Met is what a guard has to know of the record that stands in the way of an
// attempt, as it was when it was read.
type Met struct {
	State  State
	Lapsed bool
	Asked  bool // it was asked for the same thing: the fingerprints are equal
	Kept   bool // the answer is there in full
	// NeverRan: it is a claim of this very attempt that lapsed before its
	// reply arrived, with nothing before it.
	NeverRan bool
}

// Ways is what a policy says of an intent that was met.
type Ways struct {
	Dedup  bool // a duplicate is only stopped
	Refuse bool // what is unknown stays so until somebody resolves it
}

// Decision is what a guard does about a record it met.
type Decision uint8

const (
	// TakeOver says: claim it by its fence; then execute, or find out first.
	TakeOver Decision = iota
	// Replay says: give its answer again.
	Replay
	// Wait says: the same intent is being executed; wait, then give up.
	Wait
	// SayCancelled says, as those below it: answer so, and execute nothing.
	SayCancelled
	// SayMismatch says: the key was used for something else. Whoever asks learns no
	// more of it.
	SayMismatch
	// SayDuplicate is what dedup mode has in the place of a replay.
	SayDuplicate
	// SayNotKept says: it happened, and its answer is gone.
	SayNotKept
	// SayUnknown says: nobody can tell whether it happened.
	SayUnknown
)

// Decide says what a guard does about a record it met. The order is part of
// the promise: a mismatch learns nothing, not even that the intent is running.
func Decide(m Met, w Ways) Decision { return Table(0).Decide(m, w) }

// Decide is the package's Decide of this table.
func (t Table) Decide(m Met, w Ways) Decision {
	switch {
	case m.State == Cancelled:
		return SayCancelled
	case !m.Asked && !t.lacks(LineFingerprint):
		return SayMismatch
	case m.State == Completed && w.Dedup:
		return SayDuplicate
	case m.State == Completed && !m.Kept:
		return SayNotKept
	case m.State == Completed:
		return Replay
	case m.State == Claimed && !m.Lapsed:
		return Wait
	case w.Refuse && !m.NeverRan:
		return SayUnknown
	}
	return TakeOver
}
