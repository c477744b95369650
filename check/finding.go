package check

import (
	"fmt"
	"slices"
)

// Verdict is what a check came to.
type Verdict string

// The verdicts. Nobody can tell is Incomplete, and never Pass.
const (
	Pass       Verdict = "pass"
	Fail       Verdict = "fail"
	Incomplete Verdict = "incomplete" // it could not be judged; Reason says why
	Skipped    Verdict = "skipped"    // it does not apply, or was not asked for
	Known      Verdict = "known"      // failed, and the baseline says so
	Echo       Verdict = "echo"       // failed only for what another check has failed for
)

// finding is what a check returns.
type finding struct {
	verdict Verdict
	reason  string // what was seen; empty for a pass without a remark
	// echoOf is the check that failed for the same, with [Echo].
	echoOf string
	// said comes behind the reason: the words of the answer that it speaks of.
	said said
	// failure says that the service answered 5xx, and cause what that came of.
	failure bool
	cause   cause
}

func passed() finding { return finding{verdict: Pass} }

func passedBut(format string, args ...any) finding {
	return finding{verdict: Pass, reason: fmt.Sprintf(format, args...)}
}

func failed(format string, args ...any) finding {
	return finding{verdict: Fail, reason: fmt.Sprintf(format, args...)}
}

// failedBy fails for an answer, which may be a failure of the service.
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

// saying is the finding with the words of an answer behind its reason.
func (f finding) saying(r reply) finding {
	f.said = r.words()
	return f
}

// after is the finding with words before its reason.
func (f finding) after(words string) finding {
	f.reason = words + f.reason
	return f
}

// worse is the finding that says more against the service: a failure, then an echo.
// Where neither is one it is the first, unless that passed.
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
