package main

import (
	"fmt"
	"io"

	pretty "github.com/jedib0t/go-pretty/v6/table"
)

// maxViolations bounds what one scenario reports.
const maxViolations = 20

// result is what a scenario came to.
type result struct {
	name       string
	operations int // answered, replays included
	replays    int // of them
	keys       int // that were wanted
	rows       int // that are there
	unknowns   int // answers that said that nobody can tell
	errors     int // attempts without an answer; they were repeated
	kills      int // of writers and applications
	crashes    int // of the database
	cuts       int // of its connections
	duplicates int
	violations []string
}

// worked reports whether the scenario did anything at all; one that did not
// proves nothing.
func (r *result) worked() bool { return r.operations > 0 && r.replays > 0 && r.rows > 0 && r.kills > 0 }

func (r *result) violation(format string, args ...any) {
	if len(r.violations) < maxViolations {
		r.violations = append(r.violations, fmt.Sprintf(format, args...))
	}
}

func printResults(w io.Writer, results []result) {
	out := pretty.NewWriter()
	out.SetOutputMirror(w)
	out.SetStyle(pretty.StyleLight)
	out.AppendHeader(pretty.Row{
		"store/mode", "operations", "replays", "keys", "rows", "duplicates", "wrong answers", "unknown", "errors", "writers killed", "crashes", "cuts",
	})
	for _, r := range results {
		out.AppendRow(pretty.Row{
			r.name, r.operations, r.replays, r.keys, r.rows, r.duplicates, len(r.violations) - min(r.duplicates, len(r.violations)),
			r.unknowns, r.errors, r.kills, r.crashes, r.cuts,
		})
	}
	out.Render()
}
