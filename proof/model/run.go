package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxStates bounds one exploration: about 80 bytes each are kept.
const maxStates = 20_000_000

// run explores and returns the exit code: 1 when a promise is broken or an
// exploration was cut off.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("model", flag.ContinueOnError)
	flags.SetOutput(stderr)
	only := flags.String("only", "", "the scenarios whose names match `regexp`")
	attempts := flags.Int("attempts", 0, "another bound of attempts than the scenario's")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *attempts < 0 || flags.NArg() > 0 {
		say(stderr, "-attempts is at least 1, and only flags are accepted\n")
		return 2
	}
	matching, err := regexp.Compile(*only)
	if err != nil {
		say(stderr, "-only: %v\n", err)
		return 2
	}
	ok, err := exploreAll(ctx, stdout, matching, *attempts)
	switch {
	case err != nil:
		say(stderr, "%v\n", err)
		return 2
	case !ok:
		return 1
	}
	return 0
}

// exploreAll explores the scenarios, as many at a time as there are processors.
func exploreAll(ctx context.Context, out io.Writer, matching *regexp.Regexp, attempts int) (bool, error) {
	chosen := scenarios()
	chosen = slices.DeleteFunc(chosen, func(sc scenario) bool { return !matching.MatchString(sc.name) })
	if len(chosen) == 0 {
		return false, fmt.Errorf("no scenario matches %q: there are %s", matching, strings.Join(scenarioNames(), ", "))
	}
	began := time.Now()
	var wg sync.WaitGroup
	var mu sync.Mutex // guards out, ok and states
	ok, states := true, 0
	seats := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, sc := range chosen {
		seats <- struct{}{}
		wg.Go(func() {
			defer func() { <-seats }()
			if attempts > 0 {
				sc.attempts = attempts
			}
			m := &model{scenario: sc}
			f := m.explore(ctx, maxStates)
			mu.Lock()
			defer mu.Unlock()
			states += f.states
			ok = m.report(out, f) && ok
		})
	}
	wg.Wait()
	say(out, "%d states of %d scenarios in %v\n", states, len(chosen), time.Since(began).Round(time.Second/10))
	return ok, nil
}

// report prints the result of an exploration, and reports whether every promise was
// kept.
func (m *model) report(out io.Writer, f found) bool {
	say(out, "%s: %s\n  bound: %s\n", m.name, m.says, m.bound())
	say(out, "  %d states, %d transitions, depth %d, %v: ", f.states, f.transitions, f.depth, f.took.Round(time.Second/10))
	switch {
	case f.breach.promise != 0:
		say(out, "a promise is broken\n")
		m.printPath(out, f.breach, f.path)
		return false
	case !f.exhausted:
		say(out, "cut off before the bound was exhausted\n")
		return false
	}
	say(out, "exhausted, every promise kept\n")
	return true
}

func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

func scenarioNames() []string {
	var names []string
	for _, sc := range scenarios() {
		names = append(names, sc.name)
	}
	return names
}
