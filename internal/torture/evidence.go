package main

import (
	"encoding/json"
	"io"
	"strings"
)

// evidence is what a scenario came to, for programs.
type evidence struct {
	Scenario   string `json:"scenario"`
	Promises   []int  `json:"promises"` // of docs/guarantees.md, that it attacks
	Operations int    `json:"operations"`
	Faults     int    `json:"faults"`
	Violations int    `json:"violations"`
	Error      string `json:"error,omitempty"` // why there is no result
}

func (r *result) evidence(err error) evidence {
	e := evidence{
		Scenario: r.name, Promises: []int{1, 2, 3, 7, 10},
		Operations: r.operations, Faults: r.kills + r.crashes + r.cuts, Violations: len(r.violations),
	}
	if strings.HasSuffix(r.name, "/transaction") {
		e.Promises = []int{2, 3, 4, 7}
	}
	switch {
	case err != nil:
		e.Error = err.Error()
	case !r.worked():
		e.Error = "nothing happened that could prove anything"
	}
	return e
}

func printEvidence(w io.Writer, all []evidence) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(map[string]any{"results": all})
}
