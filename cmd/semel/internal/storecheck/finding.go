package storecheck

import (
	"errors"
	"slices"

	"github.com/semel-dev/semel"
)

// CheckVerdict is the result of a check.
type CheckVerdict string

// The verdicts.
const (
	Held   CheckVerdict = "held"   // tested, and did not break
	Broken CheckVerdict = "broken" // broke
	Warned CheckVerdict = "warned" // held, but the settings let it break
	Failed CheckVerdict = "failed" // could not be tested
	// Limited did not break, but the server refused some of the work.
	Limited CheckVerdict = "limited"
	// Untried could not be tested from here.
	Untried CheckVerdict = "not tried"
)

// Finding is the result of one check, with its evidence.
type Finding struct {
	Name    string       `json:"name"`
	Promise int          `json:"promise"` // of docs/guarantees.md; 0 for none
	Says    string       `json:"says"`    // what should hold, in plain words
	Verdict CheckVerdict `json:"verdict"`
	Details []string     `json:"details,omitempty"` // evidence; at most maxDetails
	Advice  string       `json:"advice,omitempty"`  // what to do
}

// maxDetails bounds the details of one finding.
const maxDetails = 10

// Report holds the results of all checks.
type Report struct {
	Store    string    `json:"store"` // its kind
	Findings []Finding `json:"findings"`
	Took     float64   `json:"took_s"`
}

// Fine reports whether nothing broke or can break with the settings, and everything could be tested.
func (r *Report) Fine() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.Verdict == Broken || f.Verdict == Warned || f.Verdict == Failed || f.Verdict == Limited
	})
}

// seen completes a finding that was tested: details are the failures, if any.
func (f Finding) seen(details []string, advice string) Finding {
	f.Verdict = Held
	if len(details) > 0 {
		f.Verdict, f.Advice = Broken, advice
		f.Details = details[:min(len(details), maxDetails)]
	}
	return f
}

// untried completes a finding that could not be tested from here.
func (f Finding) untried(why, advice string) Finding {
	f.Verdict, f.Details, f.Advice = Untried, []string{why}, advice
	return f
}

// limited completes a finding about a server that kept its promises and refused work.
func (f Finding) limited(refused []string) Finding {
	f.Verdict, f.Details = Limited, refused[:min(len(refused), maxDetails)]
	f.Advice = "No promise was broken: refused requests were not executed. Raise the limit in the errors " +
		"(a time-out of statements, locks or sessions, max_allowed_packet, the disk), or more requests than necessary are refused."
	return f
}

// failed completes a finding that could not be tested.
func (f Finding) failed(err error) Finding {
	if errors.Is(err, semel.ErrFull) {
		return f.limited([]string{err.Error()})
	}
	f.Verdict = Failed
	f.Details = []string{err.Error()}
	f.Advice = "Fix what the error names, then run the check again."
	return f
}
