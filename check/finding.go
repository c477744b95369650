package check

import (
	"fmt"
	"slices"
)

// Verdict is the result of a check.
type Verdict string

// The verdicts. A check that cannot tell is Incomplete, and never Pass.
const (
	Pass       Verdict = "pass"
	Fail       Verdict = "fail"
	Incomplete Verdict = "incomplete" // the check could not judge; Reason says why
	Skipped    Verdict = "skipped"    // the check does not apply, or was not selected
	Known      Verdict = "known"      // failed, as the baseline expects
	Echo       Verdict = "echo"       // failed only for the reason that another check failed for
)

// finding is the result of a check before it goes into the report.
type finding struct {
	verdict Verdict
	reason  string // what was seen; empty for a pass without a remark
	// echoOf is the check that failed for the same reason, with [Echo].
	echoOf string
	// said is quoted after the reason: the words of the answer that it speaks of.
	said said
	// failure means that the service answered 5xx, and cause is the reason for that.
	failure bool
	cause   cause
	// off says, of a failure by count, whether there were moreEffects or fewerEffects than there must be.
	off string
	// by are the answers that a failure blames: had the request not been refused, or answered in that way, there would
	// be no failure. A control has to show that such a request is carried out under a new key (see witness.go).
	by []reply
}

// The values of [Result.Effects].
const (
	moreEffects  = "more"
	fewerEffects = "fewer"
)

func passed() finding { return finding{verdict: Pass} }

func passedBut(format string, args ...any) finding {
	return finding{verdict: Pass, reason: fmt.Sprintf(format, args...)}
}

func failed(format string, args ...any) finding {
	return finding{verdict: Fail, reason: fmt.Sprintf(format, args...)}
}

// failedBy fails for an answer, which may be a server error.
func failedBy(r reply, format string, args ...any) finding {
	f := failed(format, args...)
	f.failure = r.failure()
	return f
}

func incomplete(format string, args ...any) finding {
	return finding{verdict: Incomplete, reason: fmt.Sprintf(format, args...)}
}

func skipped(format string, args ...any) finding {
	return finding{verdict: Skipped, reason: fmt.Sprintf(format, args...)}
}

func echo(of, reason string) finding { return finding{verdict: Echo, reason: reason, echoOf: of} }

func (f finding) saying(r reply) finding {
	f.said = r.words()
	return f
}

func (f finding) after(words string) finding {
	f.reason = words + f.reason
	return f
}

func (f finding) unjudged() finding {
	f.verdict = Incomplete
	return f
}

// blaming names the answers that a failure rests on.
func (f finding) blaming(r ...reply) finding {
	f.by = append(slices.Clone(f.by), r...)
	return f
}

func (f finding) because(format string, args ...any) finding {
	f.reason = fmt.Sprintf(format, args...)
	return f
}

// differing puts words before the reason, if that says how two answers differ.
func (f finding) differing(words string) finding {
	if f.verdict == Incomplete {
		return f
	}
	return f.after(words)
}

// worse returns the finding that says more against the service: a failure, then an echo. If neither is one, it returns
// the first unless that passed.
func worse(a, b finding) finding {
	weight := func(f finding) int { return slices.Index([]Verdict{Pass, Echo, Skipped, Incomplete, Fail}, f.verdict) }
	if weight(b) > weight(a) {
		return b
	}
	if a.ok() {
		a.reason = ""
	}
	return a
}

// ok reports whether a check may go on after this step.
func (f finding) ok() bool { return f.verdict == Pass }
