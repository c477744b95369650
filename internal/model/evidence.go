package main

import (
	"encoding/json"
	"io"
	"slices"
)

// evidence is what an exploration came to, for programs.
type evidence struct {
	Scenario   string `json:"scenario"`
	Promises   []int  `json:"promises"` // of docs/guarantees.md, that it can break
	Bound      string `json:"bound"`
	Operations int    `json:"operations"` // transitions
	States     int    `json:"states"`
	Depth      int    `json:"depth"`
	Violations int    `json:"violations"`
	Undecided  int    `json:"undecided"` // 1 when the bound was not exhausted
}

// evidenceOf says what was found.
func (m *model) evidenceOf(f *found) evidence {
	e := evidence{
		Scenario: m.name, Promises: m.promises(), Bound: m.bound(),
		Operations: f.transitions, States: f.states, Depth: f.depth,
	}
	switch {
	case f.breach.promise != 0:
		e.Violations = 1
	case !f.exhausted:
		e.Undecided = 1
	}
	return e
}

// promises are those that the scenario attacks: what every leased claim is
// about, and what breaks in it without one line of the protocol.
func (m *model) promises() []int {
	all := []int{1, 2, 3, 7, 10}
	if m.name == "transaction" {
		all = []int{2}
	}
	for _, r := range removals() {
		if r.scenario == m.name {
			all = append(all, r.promise)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func printEvidence(w io.Writer, all []evidence) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(map[string]any{"results": all})
}
