package main

import (
	_ "embed"
	"strconv"
	"strings"
)

// rows are the mutants; its first paragraph says how one is written.
//
//go:embed mutants.txt
var rows string

// mutant is a mechanism, and how it is removed.
type mutant struct {
	mechanism string
	promise   int // of docs/guarantees.md
	file      string
	old, with string
	pkg       string   // whose tests notice, relative to the module
	tests     []string // of which at least one must fail
	server    string   // the variable of the server that the tests need, or ""
}

// mutants reads the rows.
func mutants() (all []mutant) {
	for row := range strings.SplitSeq(strings.TrimSpace(rows), "\n\n") {
		if !strings.HasPrefix(row, "#") {
			all = append(all, mutantOf(strings.Split(row, "\n")))
		}
	}
	return all
}

func mutantOf(row []string) mutant {
	promise, mechanism, _ := strings.Cut(row[0], ". ")
	file, rest, _ := strings.Cut(row[1], "; ")
	place, tests, _ := strings.Cut(rest, ": ")
	pkg, server, _ := strings.Cut(place, " with ")
	var old, with []string
	for _, line := range row[2:] {
		if text, removed := strings.CutPrefix(line, "-"); removed {
			old = append(old, text)
		} else {
			with = append(with, strings.TrimPrefix(line, "+"))
		}
	}
	number, _ := strconv.Atoi(promise) // TestMutantsAreFound refuses 0
	return mutant{mechanism, number, file, strings.Join(old, "\n"), strings.Join(with, "\n"), pkg, strings.Fields(tests), server}
}
