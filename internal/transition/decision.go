package transition

// Found describes the record that a guard found in the way of an attempt, as it
// was when it was read.
type Found struct {
	State  State
	Lapsed bool
	Asked  bool // it was asked for the same thing: the fingerprints are equal
	Kept   bool // the answer is there in full
	// NeverRan: it is a claim of this very attempt that lapsed before its
	// reply arrived, with nothing before it.
	NeverRan bool
}

// Policy holds the parts of a guard's policy that matter once an intent was found.
type Policy struct {
	Dedup  bool // a duplicate is only stopped
	Refuse bool // what is unknown stays so until an operator resolves it
}

// Decision says how a guard answers a record that it found.
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
	// SayMismatch says: the key was used for something else. The caller
	// learns no more of it.
	SayMismatch
	// SayDuplicate replaces a replay in dedup mode.
	SayDuplicate
	// SayNotKept says: it happened, and its answer is gone.
	SayNotKept
	// SayUnknown says: it is unknown whether it happened.
	SayUnknown
)

// Decide says what a guard does about a record that it found. The order is part of
// the promise: a mismatch learns nothing, not even that the intent is running.
func Decide(m Found, w Policy) Decision {
	switch {
	case m.State == Cancelled:
		return SayCancelled
	case !m.Asked:
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
