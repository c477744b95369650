package lint

import "github.com/semel-dev/semel/internal/lint/judge"

// Verdict says whether a statement is safe to run twice. A greater one is worse.
type Verdict uint8

// The verdicts.
const (
	Safe        = Verdict(judge.Safe)
	SafeButTime = Verdict(judge.Time) // the same apart from timestamps
	CannotTell  = Verdict(judge.CannotTell)
	NotSafe     = Verdict(judge.NotSafe)
)

// NotNeeded is the rule of a finding whose statement is safe although a comment semel:safe answers
// for it.
const NotNeeded = "answer-not-needed"

// String is the verdict as people read it: "safe", "safe apart from a timestamp", "cannot tell" or
// "not safe".
func (v Verdict) String() string { return judge.Verdict(v).String() }

// Finding holds the verdict on one statement.
type Finding struct {
	File         string
	Line, Column int    // of its first word, from 1
	Name         string // that sqlc or goyesql gives it; empty for none
	Text         string // its first line
	Verdict      Verdict
	Rule         string // the reason in one word, as in docs/lint.md
	Why          string // the reason in one sentence
	Guard        string // what would make it safe; empty where nothing is known
	Assumes      []string
	// Answer is the reason of a comment semel:safe at the statement, which takes the place of the verdict.
	Answer string
}

// Open reports whether a finding has to be looked at: its verdict is not safe or cannot tell, and
// no comment answers it.
func (f *Finding) Open() bool { return f.Verdict >= CannotTell && f.Answer == "" }
