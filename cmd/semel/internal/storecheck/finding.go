package storecheck

import (
	"errors"
	"slices"

	"github.com/semel-dev/semel"
)

// Verdict is what a check came to.
type Verdict string

// The verdicts.
const (
	Held   Verdict = "held"   // it was tried and did not break
	Broken Verdict = "broken" // it broke
	Warned Verdict = "warned" // it held, but the settings let it break
	Failed Verdict = "failed" // it could not be tried
	// Limited did not break, but the server refused some of the work.
	Limited Verdict = "limited"
	// Untried was not tried, because it cannot be from here.
	Untried Verdict = "not tried"
)

// Finding is what one check found.
type Finding struct {
	Name    string   `json:"name"`
	Promise int      `json:"promise"` // of docs/guarantees.md; 0 for none
	Says    string   `json:"says"`    // what should hold, in plain words
	Verdict Verdict  `json:"verdict"`
	Details []string `json:"details,omitempty"` // what was seen; at most maxDetails
	Advice  string   `json:"advice,omitempty"`  // what to do
}

// maxDetails bounds what one finding tells.
const maxDetails = 10

// Report is what all checks found.
type Report struct {
	Store    string    `json:"store"` // what kind it is
	Findings []Finding `json:"findings"`
	Took     float64   `json:"took_s"`
}

// Fine reports whether nothing was seen to break, and everything could be tried
// and done.
func (r *Report) Fine() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.Verdict == Broken || f.Verdict == Failed || f.Verdict == Limited
	})
}

// seen is the end of a finding that was tried: details are what broke, if
// anything.
func (f Finding) seen(details []string, advice string) Finding {
	f.Verdict = Held
	if len(details) > 0 {
		f.Verdict, f.Advice = Broken, advice
		f.Details = details[:min(len(details), maxDetails)]
	}
	return f
}

// untried is the end of a finding about which nothing was found out.
func (f Finding) untried(why, advice string) Finding {
	f.Verdict, f.Details, f.Advice = Untried, []string{why}, advice
	return f
}

// limited is the end of a finding about a server that broke nothing and refused
// work.
func (f Finding) limited(refused []string) Finding {
	f.Verdict, f.Details = Limited, refused[:min(len(refused), maxDetails)]
	f.Advice = "No promise was broken: what the server refused was not executed. Raise the limit that the errors name " +
		"(a time-out of statements, locks or sessions, max_allowed_packet, the disk), or more requests are refused than need be."
	return f
}

// failed is the end of a finding that could not be tried.
func (f Finding) failed(err error) Finding {
	if errors.Is(err, semel.ErrFull) {
		return f.limited([]string{err.Error()})
	}
	f.Verdict = Failed
	f.Details = []string{err.Error()}
	f.Advice = "Fix what the error names, then run the check again."
	return f
}
