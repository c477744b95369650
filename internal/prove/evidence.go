package main

import (
	"slices"
	"strings"
)

// promises is how many docs/guarantees.md makes.
const promises = 10

// evidence is what one attack on some promises came to. The programs print it as
// JSON, a list under "results".
type evidence struct {
	Attack     string `json:"scenario"`
	Promises   []int  `json:"promises"`
	Operations int    `json:"operations"`
	Faults     int    `json:"faults"`
	Violations int    `json:"violations"`
	Undecided  int    `json:"undecided"`
	Error      string `json:"error"`
}

// broken reports whether the attack found a violation, or proves nothing.
func (e *evidence) broken() bool {
	return e.Violations > 0 || e.Undecided > 0 || e.Error != "" || e.Operations == 0
}

// line is what is said of one promise.
type line struct {
	promise    int
	name       string
	attacks    []string // the kinds: how often each
	operations int
	faults     int
	violations int
	broken     []string // the attacks that found something, or nothing at all
}

// sum makes a line for every promise. names are their titles.
func sum(all []evidence, names map[int]string) []line {
	lines := make([]line, promises)
	for i := range lines {
		l := &lines[i]
		l.promise = i + 1
		l.name = names[l.promise]
		count := map[string]int{}
		for k := range all {
			e := &all[k]
			if !slices.Contains(e.Promises, l.promise) {
				continue
			}
			kind, _, _ := strings.Cut(e.Attack, ":")
			count[kind]++
			l.operations += e.Operations
			l.faults += e.Faults
			l.violations += e.Violations
			if e.broken() {
				l.broken = append(l.broken, e.Attack)
			}
		}
		for _, kind := range []string{"model", "histories", "torture", "tests"} {
			if count[kind] > 0 {
				l.attacks = append(l.attacks, kindText(kind, count[kind]))
			}
		}
		if len(l.attacks) == 0 {
			l.broken = append(l.broken, "nothing attacks it")
		}
	}
	return lines
}
