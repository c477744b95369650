package console

import "github.com/semel-dev/semel/outcomelog"

// class groups outcomes.
type class int

const (
	asRefused class = iota
	asRan
	asReplayed
	asUnknown
)

// sense is the meaning of an outcome.
type sense struct {
	class class
	text  string
}

// meaning explains an outcome to an operator.
func meaning(o outcomelog.Outcome) sense {
	switch o {
	case outcomelog.Claimed, outcomelog.Executed, outcomelog.Created, outcomelog.ReturnedExisting:
		return sense{asRan, "the request ran, and its answer was recorded"}
	case outcomelog.Rejected:
		return sense{asRan, "the application or the database refused it"}
	case outcomelog.Failed:
		return sense{asRan, "its work failed for good, and repetitions get the same error"}
	case outcomelog.Released, outcomelog.RolledBack:
		return sense{asRan, "it ran without an effect; a retry runs again"}
	case outcomelog.NotStored:
		return sense{asRan, "it ran, and its answer could not be recorded"}
	case outcomelog.Unprotected:
		return sense{asRan, "it ran without protection, because the store did not answer"}
	case outcomelog.Replayed, outcomelog.Merged:
		return sense{asReplayed, "it got the recorded answer"}
	case outcomelog.Unknown:
		return sense{asUnknown, "it ended without an answer, or repeats one that did"}
	case outcomelog.InFlight:
		return sense{asRefused, "the first request is still running"}
	case outcomelog.Mismatch:
		return sense{asRefused, "its key was used for a different request"}
	case outcomelog.NotKept:
		return sense{asRefused, "the first request completed, but its answer was not kept"}
	case outcomelog.Unreadable:
		return sense{asRefused, "the recorded answer cannot be decrypted"}
	case outcomelog.AmbiguousRequest:
		return sense{asRefused, "it can be read in two ways"}
	case outcomelog.Duplicate:
		return sense{asRefused, "the first request completed, and this mode replays nothing"}
	case outcomelog.Cancelled:
		return sense{asRefused, "an operator or the application cancelled it"}
	case outcomelog.Denied:
		return sense{asRefused, "the caller may no longer see the answer"}
	case outcomelog.Quota:
		return sense{asRefused, "its caller has reached a quota"}
	case outcomelog.Unavailable:
		return sense{asRefused, "the store did not answer"}
	case outcomelog.ShuttingDown:
		return sense{asRefused, "the process was about to end"}
	case outcomelog.Aborted:
		return sense{asRefused, "the caller went away while it waited"}
	case outcomelog.KeyMissing:
		return sense{asRefused, "it has no key, and needs one"}
	case outcomelog.KeyInvalid:
		return sense{asRefused, "its key is not valid"}
	case outcomelog.FormStale:
		return sense{asRefused, "the token of its form is no longer valid"}
	case outcomelog.Unverified:
		return sense{asRefused, "its signature is missing, wrong or too old"}
	case outcomelog.BodyTooLarge:
		return sense{asRefused, "its body is too long"}
	case outcomelog.BodyIncomplete:
		return sense{asRefused, "its body did not arrive completely"}
	case outcomelog.Internal:
		return sense{asRefused, "a function of the service failed; the log says which"}
	}
	return sense{asRefused, ""}
}

// stopped reports whether an outcome belongs to a duplicate, which did not run again.
func stopped(o outcomelog.Outcome) bool {
	switch o { //nolint:exhaustive // all else ran, or repeats nothing.
	case outcomelog.Replayed, outcomelog.Merged, outcomelog.InFlight, outcomelog.NotKept, outcomelog.Unreadable, outcomelog.Duplicate:
		return true
	}
	return false
}
