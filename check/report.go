package check

import (
	"time"

	"github.com/semel-dev/semel/internal/check/wire"
)

// Report is what a run found. Secrets are masked in it.
type Report struct {
	Target   string        `json:"target"` // method and URL, as the template has them
	Profile  string        `json:"profile"`
	Level    Level         `json:"level"`
	Counters []string      `json:"counters"`
	Began    time.Time     `json:"began"`
	Took     time.Duration `json:"took_ns"`
	// Announced is the most that the run said it would send to the endpoint,
	// Sent what it did send; LookUps are requests of counters and other steps.
	Announced int `json:"announced"`
	Sent      int `json:"sent"`
	LookUps   int `json:"look_ups"`
	// Intents is how many different wishes were sent: as many records are left
	// behind at most, with keys that begin with semel-check-.
	Intents int      `json:"intents"`
	Notes   []string `json:"notes,omitempty"`
	// Whole says that every check of the plan ran.
	Whole bool `json:"whole"`
	// Died says that the service stopped answering during the run; empty if not.
	Died string `json:"died,omitempty"`
	// Fixed are checks that the baseline expects to fail, and that passed.
	Fixed []string `json:"fixed,omitempty"`
	// Results stand in the order of the catalogue.
	Results []Result `json:"results"`
}

// Result is what one check came to.
type Result struct {
	ID      string  `json:"id"`
	Group   string  `json:"group"`
	Level   Level   `json:"level"`
	Says    string  `json:"says"`
	Source  string  `json:"source"`
	Verdict Verdict `json:"verdict"`
	// Reason is what was seen, where that is not simply what was expected.
	Reason string `json:"reason,omitempty"`
	// EchoOf is the check that failed for what this one saw, and nothing else, with
	// the verdict [Echo].
	EchoOf string `json:"echo_of,omitempty"`
	// ServerError says that the check failed because the service answered 5xx.
	ServerError bool `json:"server_error,omitempty"`
	// Advice is what to do, for failures.
	Advice    string        `json:"advice,omitempty"`
	Took      time.Duration `json:"took_ns"`
	Exchanges []Exchange    `json:"exchanges,omitempty"`
	// LeftOut is how many more exchanges there were.
	LeftOut int `json:"exchanges_left_out,omitempty"`

	cause cause
	said  said
}

// Exchange is one request and what became of it. In a [Report] secrets are
// masked, and bodies end after 4 KiB. [Exchange.Evidence] is its shape in JSON.
type Exchange struct {
	Label   string // such as "first", "again"
	Request *wire.Request
	Manner  wire.Manner
	Answer  *wire.Answer // nil if none came
	Error   string
	Began   time.Time
	// RequestBytes and AnswerBytes are how long the whole bodies were.
	RequestBytes, AnswerBytes int
}

// Count is the number of results with a verdict.
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
