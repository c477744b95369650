// Command longform finds, in the packages of its arguments, the tests that scripts/test long has to run again. It prints two lines with the
// packages and a pattern for go test -run of those that have a long form, and two lines of those that take random walks whose
// number -rapid.checks sets. A test has a long form if anything that it mentions, in whatever package, leads to SEMEL_LONG.
package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	if err := run(".", os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "longform:", err)
		os.Exit(1)
	}
}

func run(dir string, patterns []string, out io.Writer) error {
	g, err := load(dir, patterns)
	if err != nil {
		return err
	}
	var long, walks selection
	for _, t := range g.tests {
		reached := g.reached(t)
		walk, limited := reached[randomWalks], reached[walkLimit]
		if reached[longVariable] || walk && limited || slices.ContainsFunc(raced(), func(name string) bool { return reached[name] }) {
			long.add(t)
		}
		if walk && g.walking[t.dir] && !limited {
			walks.add(t)
		}
	}
	if long.folders == nil || walks.folders == nil {
		return errors.New("found no test with a long form, or none with random walks")
	}
	_, err = fmt.Fprintf(out, "%s%s", &long, &walks)
	return err
}

// selection is tests of some packages.
type selection struct{ folders, names map[string]bool }

func (s *selection) add(t test) {
	if s.folders == nil {
		s.folders, s.names = map[string]bool{}, map[string]bool{}
	}
	s.folders[t.folder], s.names[t.name] = true, true
}

func (s *selection) String() string {
	sorted := func(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
	return fmt.Sprintf("%s\n^(%s)$\n", strings.Join(sorted(s.folders), " "), strings.Join(sorted(s.names), "|"))
}
