package main

import (
	"encoding/json"
	"io"

	pretty "github.com/jedib0t/go-pretty/v6/table"
)

// maxViolations bounds what one scenario shows; it counts all.
const maxViolations = 10

// result is what a scenario came to, for people and, as JSON, for programs.
type result struct {
	Scenario   string   `json:"scenario"`
	Store      string   `json:"store"`
	Fault      string   `json:"fault"`
	Promises   []int    `json:"promises"`   // of docs/guarantees.md, that it attacks
	Operations int      `json:"operations"` // asked for
	Pending    int      `json:"pending"`    // of them without an answer that says what happened
	Faults     int      `json:"faults"`     // injected
	Histories  int      `json:"histories"`  // checked
	Violations int      `json:"violations"`
	Undecided  int      `json:"undecided"` // histories of which the search found out nothing
	Wrong      []string `json:"wrong,omitempty"`
	Error      string   `json:"error,omitempty"` // why there is no result
}

func newResult(sc scenario, faults int, j *judgement) result {
	return result{
		Scenario: sc.name(), Store: sc.store, Fault: sc.fault, Promises: sc.promises(), Operations: j.operations,
		Pending: j.pending, Faults: faults, Histories: j.histories, Violations: len(j.violations), Undecided: j.undecided,
		Wrong: j.violations[:min(len(j.violations), maxViolations)],
	}
}

// holds reports whether the promises held; a scenario in which nothing
// happened proves nothing.
func (r *result) holds() bool {
	return r.Error == "" && r.Violations == 0 && r.Undecided == 0 && r.Operations > r.Pending && r.Faults > 0 && r.Histories > 0
}

// report is all that -json prints.
type report struct {
	Seed    uint64   `json:"seed"`
	Out     string   `json:"out,omitempty"` // where what is wrong was written
	Results []result `json:"results"`
}

func (r *report) holds() bool {
	for i := range r.Results {
		if !r.Results[i].holds() {
			return false
		}
	}
	return len(r.Results) > 0
}

func (r *report) printJSON(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(r)
}

func (r *report) print(w io.Writer) {
	say(w, "seed %d\n", r.Seed)
	out := pretty.NewWriter()
	out.SetOutputMirror(w)
	out.SetStyle(pretty.StyleLight)
	out.AppendHeader(pretty.Row{"store", "fault", "operations", "without answer", "faults", "histories", "violations", "undecided"})
	for i := range r.Results {
		one := &r.Results[i]
		out.AppendRow(pretty.Row{one.Store, one.Fault, one.Operations, one.Pending, one.Faults, one.Histories, one.Violations, one.Undecided})
		for _, wrong := range one.Wrong {
			say(w, "%s: %s\n", one.Scenario, wrong)
		}
		if one.Error != "" {
			say(w, "%s: %s\n", one.Scenario, one.Error)
		}
	}
	out.Render()
	if !r.holds() {
		say(w, "the histories that are wrong are in %s\n", r.Out)
	}
}
