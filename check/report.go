package check

import (
	"time"

	"github.com/semel-dev/semel/check/wire"
)

// Report is the result of a run, with secrets masked.
type Report struct {
	Target   string        `json:"target"` // method and URL, as the template has them
	Profile  string        `json:"profile"`
	Level    Level         `json:"level"`
	Counters []string      `json:"counters"`
	Began    time.Time     `json:"began"`
	Took     time.Duration `json:"took_ns"`
	// Announced is the most requests that the run said it would send to the endpoint, Sent the number it sent; LookUps
	// are requests of counters and other steps.
	Announced int `json:"announced"`
	Sent      int `json:"sent"`
	LookUps   int `json:"look_ups"`
	// Intents is the number of different intents that were sent: at most as many records are left behind, with keys
	// that begin with semel-check-.
	Intents int      `json:"intents"`
	Notes   []string `json:"notes,omitempty"`
	// Whole says that every check of the plan ran.
	Whole bool `json:"whole"`
	// Died says that the service stopped answering during the run; empty if not.
	Died string `json:"died,omitempty"`
	// Fixed are checks that passed although the baseline expects them to fail.
	Fixed []string `json:"fixed,omitempty"`
	// Results are in the order of the catalogue.
	Results []Result `json:"results"`
}

// Result is the result of one check.
type Result struct {
	ID      string  `json:"id"`
	Group   string  `json:"group"`
	Level   Level   `json:"level"`
	Says    string  `json:"says"`
	Source  string  `json:"source"`
	Verdict Verdict `json:"verdict"`
	// Reason says what was seen, if that is not simply what was expected.
	Reason string `json:"reason,omitempty"`
	// EchoOf is, with the verdict [Echo], the check that failed for the same reason.
	EchoOf string `json:"echo_of,omitempty"`
	// ServerError says that the check failed because the service answered 5xx.
	ServerError bool `json:"server_error,omitempty"`
	// Effects says, if the check failed for a count, whether there were "more" or "fewer" effects than there must be.
	Effects string `json:"effects,omitempty"`
	// Advice says what to do about a failure.
	Advice    string        `json:"advice,omitempty"`
	Took      time.Duration `json:"took_ns"`
	Exchanges []Exchange    `json:"exchanges,omitempty"`
	// LeftOut is the number of exchanges that were left out.
	LeftOut int `json:"exchanges_left_out,omitempty"`

	cause cause
	said  said
	// rests are the kinds of answers on which a failure rests (see noise.go).
	rests []string
}

// Exchange is one request and its outcome. In a [Report] secrets are masked, and bodies end after 4 KiB.
// [Exchange.Evidence] is its shape in JSON.
type Exchange struct {
	Label   string // such as "first", "again"
	Request *wire.Request
	Manner  wire.Manner
	Answer  *wire.Answer // nil if none came
	Error   string
	Began   time.Time
	// RequestBytes and AnswerBytes are the lengths of the whole bodies.
	RequestBytes, AnswerBytes int
}

// Count returns the number of results with a verdict.
func (r *Report) Count(v Verdict) int {
	n := 0
	for i := range r.Results {
		if r.Results[i].Verdict == v {
			n++
		}
	}
	return n
}

// Fine reports whether nothing failed, and everything that must hold was judged.
func (r *Report) Fine() bool {
	for i := range r.Results {
		one := &r.Results[i]
		if one.Verdict == Fail || one.Verdict == Incomplete && one.Level == LevelMust {
			return false
		}
	}
	return r.Died == ""
}
