package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const guaranteesFile = "docs/guarantees.md"

var (
	heading  = regexp.MustCompile(`^## (\d+)\. (.+)$`)
	testName = regexp.MustCompile("`((?:Test|Fuzz)[A-Z][A-Za-z0-9_]*)`")
)

// guarantees is what docs/guarantees.md says: the title of every promise, and
// the tests that it names.
type guarantees struct {
	titles map[int]string
	tests  map[int][]string
}

func readGuarantees(path string) (guarantees, error) {
	file, err := os.Open(path) //nolint:gosec // the repository's own document.
	if err != nil {
		return guarantees{}, err
	}
	defer file.Close() //nolint:errcheck // it was only read.
	g := guarantees{titles: map[int]string{}, tests: map[int][]string{}}
	promise := 0
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		text := lines.Text()
		if strings.HasPrefix(text, "## ") {
			promise = 0
		}
		if m := heading.FindStringSubmatch(text); m != nil {
			if promise, err = strconv.Atoi(m[1]); err != nil {
				return guarantees{}, err
			}
			g.titles[promise] = m[2]
		}
		for _, m := range testName.FindAllStringSubmatch(text, -1) {
			if promise > 0 && !slices.Contains(g.tests[promise], m[1]) {
				g.tests[promise] = append(g.tests[promise], m[1])
			}
		}
	}
	if err := lines.Err(); err != nil {
		return guarantees{}, err
	}
	for p := 1; p <= promises; p++ {
		if g.titles[p] == "" || len(g.tests[p]) == 0 {
			return guarantees{}, fmt.Errorf("%s: promise %d has no title, or names no test", path, p)
		}
	}
	return g, nil
}
