package lint

import "github.com/semel-dev/semel/lint/internal/judge"

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

// withoutReason is the rule of a comment semel:safe without a reason.
const withoutReason = "answer-without-reason"

// String is the verdict as people read it: "safe", "safe apart from a timestamp", "cannot tell" or
// "not safe".
func (v Verdict) String() string { return judge.Verdict(v).String() }

// Repeat says what the second run of a statement answers, if nothing else has run in between. It is known only of
// statements whose verdict is [Safe] or [SafeButTime].
type Repeat uint8

// The answers of a second run.
const (
	RepeatUnknown = Repeat(judge.RepeatUnknown) // it depends, or cannot be told
	RepeatSame    = Repeat(judge.RepeatSame)    // the same count of rows, and the same rows
	RepeatDiffers = Repeat(judge.RepeatDiffers) // once the first run has changed rows, another count of them, mostly 0
	RepeatRefused = Repeat(judge.RepeatRefused) // once the first run has inserted or defined something, an error
)

// String is the answer as people read it: "cannot tell", "the same", "other rows" or "refused".
func (r Repeat) String() string { return judge.Repeat(r).String() }

// Finding holds the verdict on one statement.
type Finding struct {
	File         string
	Line, Column int      // of its first word, from 1
	Name         string   // that sqlc or goyesql gives it; empty for none
	Text         string   // its first line
	SQL          string   // all of it
	Dialects     []string // those that can read it: postgresql, mysql, sqlite
	Verdict      Verdict
	Rule         string // the reason in one word, as in docs/lint.md
	Why          string // the reason in one sentence
	Guard        string // what would make it safe; empty where nothing is known
	Fix          *Fix   // the guard as a change of the file; nil where no change of the file adds the guard, and in Go
	Assumes      []string
	// Fingerprint names the finding whatever its line: 16 hexadecimal digits of its rule and its
	// statement without comments and line breaks.
	Fingerprint string
	// Reads and Writes are the tables of the statement, in lower case.
	Reads, Writes []string
	// Answer is the reason of a comment semel:safe at the statement, which takes the place of the verdict.
	Answer string

	Repeat  Repeat
	Refusal string // the error of a second run that is refused, such as "SQLSTATE 23505"; empty when it is not one of a unique key

	rowless bool // it is about no rows: SET, GRANT

	// Proof holds what two runs of the statement showed; nil when it was not tried. [Run] tries none.
	Proof *Proof
}

// Proof holds what two runs of a statement on a copy of a database showed.
type Proof struct {
	Outcome string   `json:"outcome"`           // "same", "differs", "only times differ", "no evidence" or "not run"
	Why     string   `json:"why,omitempty"`     // why it was not run
	Changes []Change `json:"changes,omitempty"` // rows that the second run changed
	// First and Second are the answers of the runs, where they differ: "1 row", "error 23505".
	First    string `json:"first,omitempty"`
	Second   string `json:"second,omitempty"`
	Fillings int    `json:"fillings"` // how often it was tried, each time with other rows
}

// Change is a row that a second run changed.
type Change struct {
	Table   string   `json:"table"`
	Key     string   `json:"key"`
	Columns []string `json:"columns,omitempty"` // that differ; nil when the row is new, or gone
	Before  string   `json:"before"`
	After   string   `json:"after"`
}

// Accept takes a comment semel:safe at the statement into account: it needs a reason, and something to answer.
func (f *Finding) Accept(reason string) {
	switch {
	case reason == "":
		f.Verdict = max(f.Verdict, CannotTell)
		f.Rule, f.Why, f.Guard = withoutReason, "the comment semel:safe gives no reason: write it behind the word", ""
	case f.Verdict < CannotTell:
		f.Rule, f.Why = NotNeeded, "remove the comment semel:safe: without it, the statement is "+f.Verdict.String()
	default:
		f.Answer = reason
	}
}

// Open reports whether a finding has to be looked at: its verdict is not safe or cannot tell, and
// no comment answers it.
func (f *Finding) Open() bool { return f.Verdict >= CannotTell && f.Answer == "" }
