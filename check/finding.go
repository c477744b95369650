package check

import "fmt"

// Verdict is what a check came to.
type Verdict string

// The verdicts. Nobody can tell is Incomplete, and never Pass.
const (
	Pass       Verdict = "pass"
	Fail       Verdict = "fail"
	Incomplete Verdict = "incomplete" // it could not be judged; Reason says why
	Skipped    Verdict = "skipped"    // it does not apply, or was not asked for
	Known      Verdict = "known"      // failed, and the baseline says so
)

// finding is what a check returns.
type finding struct {
	verdict Verdict
	reason  string // what was seen; empty for a pass without a remark
}

func passed() finding { return finding{verdict: Pass} }

func passedBut(format string, args ...any) finding {
	return finding{Pass, fmt.Sprintf(format, args...)}
}

func failed(format string, args ...any) finding {
	return finding{Fail, fmt.Sprintf(format, args...)}
}

func incomplete(format string, args ...any) finding {
	return finding{Incomplete, fmt.Sprintf(format, args...)}
}

func skipped(format string, args ...any) finding {
	return finding{Skipped, fmt.Sprintf(format, args...)}
}

// ok reports whether a check may go on after this step.
func (f finding) ok() bool { return f.verdict == Pass }
