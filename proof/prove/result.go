package main

import (
	"fmt"
	"io"
	"strings"

	pretty "github.com/jedib0t/go-pretty/v6/table"
)

// maxViolations bounds the violations that one scenario prints; it counts all.
const maxViolations = 10

// result sums a scenario up.
type result struct {
	scenario   scenario
	operations int // asked for
	pending    int // of them without an answer that says what happened
	faults     int // injected
	kills      int // of them: kill -9 of a process or a server
	histories  int // of one intent each, that were checked
	undecided  int // of them
	violations []string
	notes      []string // for people
	err        error    // why it has no result
}

// holds reports whether the promises held; a scenario in which nothing
// happened proves nothing.
func (r *result) holds() bool {
	return r.err == nil && len(r.violations) == 0 && r.undecided == 0 && r.operations > r.pending && r.faults > 0 && r.histories > 0
}

// report sums all scenarios up.
type report struct {
	seed    uint64
	out     string // the folder of the histories that break a promise
	results []result
}

func (r *report) holds() bool {
	for i := range r.results {
		if !r.results[i].holds() {
			return false
		}
	}
	return len(r.results) > 0
}

func (r *report) print(w io.Writer) {
	say(w, "seed %d\n", r.seed)
	out := pretty.NewWriter()
	out.SetOutputMirror(w)
	out.SetStyle(pretty.StyleLight)
	out.AppendHeader(pretty.Row{"scenario", "promises", "operations", "without answer", "faults", "kills", "histories", "violations", "undecided"})
	var all result
	for i := range r.results {
		one := &r.results[i]
		all.operations, all.pending, all.faults, all.kills = all.operations+one.operations, all.pending+one.pending, all.faults+one.faults, all.kills+one.kills
		all.histories, all.undecided, all.violations = all.histories+one.histories, all.undecided+one.undecided, append(all.violations, one.violations...)
		promises := strings.Trim(fmt.Sprint(one.scenario.promises()), "[]")
		out.AppendRow(pretty.Row{
			one.scenario.name(), promises, one.operations, one.pending, one.faults, one.kills, one.histories, len(one.violations), one.undecided,
		})
		for _, note := range one.notes {
			say(w, "%s: %s\n", one.scenario.name(), note)
		}
		for _, violation := range one.violations[:min(len(one.violations), maxViolations)] {
			say(w, "%s: %s\n", one.scenario.name(), violation)
		}
		switch {
		case one.err != nil:
			say(w, "%s: %v\n", one.scenario.name(), one.err)
		case !one.holds() && len(one.violations) == 0 && one.undecided == 0:
			say(w, "%s: too little happened to prove anything; let it take longer (-for)\n", one.scenario.name())
		}
	}
	out.AppendFooter(pretty.Row{"all", "", all.operations, all.pending, all.faults, all.kills, all.histories, len(all.violations), all.undecided})
	out.Render()
	if !r.holds() {
		say(w, "the histories of what failed are in %s; repeat with -seed %d\n", r.out, r.seed)
	}
}
