package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// noticedFile has a row for each mutant.
const noticedFile = "proof/mutate/noticed.md"

const tableHead = "| mechanism that was removed | promise | file | test that failed | seconds |\n|---|---|---|---|---|\n"

// printResults prints a row for each mutant.
func printResults(w io.Writer, results []result) {
	say(w, "\n%s", tableHead)
	for _, r := range results {
		noticed, seconds := "**none**", fmt.Sprintf("%.1f", r.took.Seconds())
		switch {
		case r.absent != "":
			noticed, seconds = "skipped: needs "+r.absent, "–"
		case r.err == nil:
			noticed = "`" + r.failed[0] + "`"
		}
		say(w, "%s | %s | %s |\n", r.mutant.rowHead(), noticed, seconds)
	}
	say(w, "\n")
}

// rowHead begins the row of a mutant, and no other's.
func (m *mutant) rowHead() string {
	return fmt.Sprintf("| %s | %d | `%s`", m.mechanism, m.promise, m.file)
}

// keep puts the rows of the mutants that were noticed into the file, in the order of mutants.txt. Rows of mutants that are gone go.
func keep(file string, results []result) error {
	text, err := os.ReadFile(file) //nolint:gosec // the tree's own
	if err != nil {
		return err
	}
	words, table, _ := strings.Cut(string(text), tableHead)
	tried := map[string]string{}
	for _, r := range results {
		if r.err == nil && r.absent == "" {
			tried[r.mutant.rowHead()] = fmt.Sprintf(" | `%s` | %.1f |", r.failed[0], r.took.Seconds())
		}
	}
	var kept strings.Builder
	for _, m := range mutants() {
		head := m.rowHead()
		_, end, found := strings.Cut("\n"+table, "\n"+head)
		end, _, _ = strings.Cut(end, "\n")
		if now, ok := tried[head]; ok {
			end, found = now, true
		}
		if found {
			kept.WriteString(head + end + "\n")
		}
	}
	return os.WriteFile(file, []byte(words+tableHead+kept.String()), 0o644) //nolint:gosec // a page of the repository
}
