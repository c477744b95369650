package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
)

const (
	resultsFile = "proof/compat/results.json"
	pageFile    = "docs/compatibility.md"
)

// results are the rows of the page by the names of their targets.
type results map[string]row

// row holds what a target showed.
type row struct {
	Version string          `json:"version"`
	Date    string          `json:"date"`
	Cells   map[string]cell `json:"suites"`
}

// cell holds what a suite showed on a server.
type cell struct {
	Passed int `json:"passed"`
	// Failed holds the first line that each failed test reported.
	Failed map[string]string `json:"failed,omitempty"`
}

// unexplained counts the failures for which the server has no reason.
func (r *row) unexplained(p *target) (n int) {
	for _, c := range r.Cells {
		for name, reported := range c.Failed {
			if p.reason(name, reported) == "" {
				n++
			}
		}
	}
	return n
}

// passed counts the tests that passed.
func (r *row) passed() (n int) {
	for _, c := range r.Cells {
		n += c.Passed
	}
	return n
}

// put replaces what a run saw; suites of the same version that it did not run stay, and then the date is that of the oldest.
func (all results) put(name string, r row) {
	if old, found := all[name]; found && old.Version == r.Version {
		cells := maps.Clone(old.Cells)
		maps.Copy(cells, r.Cells)
		if len(r.Cells) < len(cells) {
			r.Date = min(old.Date, r.Date)
		}
		r.Cells = cells
	}
	all[name] = r
}

func readResults(file string) (results, error) {
	all := results{}
	text, err := os.ReadFile(file) //nolint:gosec // our own
	if errors.Is(err, os.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	return all, err
}

func writeResults(file string, all results) error {
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644) //nolint:gosec // our own
}
