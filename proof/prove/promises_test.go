package main

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// docs/guarantees.md lists the kinds that attack each promise, and no promise is
// attacked in one way only.
func TestPromises(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/guarantees.md")
	noError(t, err)
	rows := regexp.MustCompile(`(?m)^\| (\d+)\. [^|]*\|([^|]*)\|([^|]*)\|([^|]*)\|$`).FindAllStringSubmatch(string(page), -1)
	if len(rows) != 10 {
		t.Errorf("the table of attacks has %d promises, want 10", len(rows))
	}
	for _, row := range rows {
		promise, err := strconv.Atoi(row[1])
		noError(t, err)
		var kinds []string
		for _, sc := range scenarios() {
			if slices.Contains(sc.promises(), promise) && !slices.Contains(kinds, sc.kind) {
				kinds = append(kinds, sc.kind)
			}
		}
		if got, want := strings.TrimSpace(row[4]), strings.Join(kinds, ", "); got != want {
			t.Errorf("promise %d: the table has the scenarios %q, want %q", promise, got, want)
		}
		ways := 0
		for _, way := range row[2:] {
			if strings.TrimSpace(way) != "" {
				ways++
			}
		}
		if ways < 2 {
			t.Errorf("promise %d is attacked in %d way, want at least two", promise, ways)
		}
	}
}
