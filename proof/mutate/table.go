package main

import (
	"fmt"
	"io"
)

// printResults prints a table that a page of documentation can hold.
func printResults(w io.Writer, results []result) {
	say(w, "\n| mechanism that was removed | promise | file | test that failed | seconds |\n|---|---|---|---|---|\n")
	for _, r := range results {
		noticed, seconds := "**none**", fmt.Sprintf("%.1f", r.took.Seconds())
		switch {
		case r.absent != "":
			noticed, seconds = "skipped: needs "+r.absent, "–"
		case r.err == nil:
			noticed = "`" + r.failed[0] + "`"
		}
		say(w, "| %s | %d | `%s` | %s | %s |\n", r.mutant.mechanism, r.mutant.promise, r.mutant.file, noticed, seconds)
	}
	say(w, "\n")
}
