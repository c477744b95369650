package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// event is a line of go test -json.
type event struct {
	Action  string
	Package string
	Test    string
}

// runTests runs the tests that the promises name, and returns for each promise
// what they came to. Every test and part of one counts as an operation.
func runTests(ctx context.Context, g guarantees, log io.Writer) ([]evidence, error) {
	var names []string
	for _, tests := range g.tests {
		names = append(names, tests...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	args := []string{"test", "-json", "-run", "^(" + strings.Join(names, "|") + ")$", "./..."}
	test := exec.CommandContext(ctx, "go", args...) //nolint:gosec // our own tests.
	test.Stderr = log
	out, err := test.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := test.Start(); err != nil {
		return nil, err
	}
	passed, failed, err := readEvents(out)
	if err != nil {
		return nil, errors.Join(err, test.Wait())
	}
	waitErr := test.Wait()
	if _, ended := errors.AsType[*exec.ExitError](waitErr); waitErr != nil && (!ended || len(failed) == 0) {
		return nil, fmt.Errorf("go test: %w", waitErr)
	}
	return judge(g, passed, failed), nil
}

// readEvents counts how often each test, its parts included, passed and failed.
func readEvents(r io.Reader) (passed, failed map[string]int, err error) {
	passed, failed = map[string]int{}, map[string]int{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, nil, fmt.Errorf("read what go test says: %w", err)
		}
		name, _, _ := strings.Cut(e.Test, "/")
		switch {
		case name == "":
		case e.Action == "pass":
			passed[name]++
		case e.Action == "fail":
			failed[name]++
		}
	}
	return passed, failed, lines.Err()
}

// judge makes one piece of evidence for each promise. A test that did not run
// breaks it.
func judge(g guarantees, passed, failed map[string]int) []evidence {
	var all []evidence
	for p := 1; p <= promises; p++ {
		for _, name := range g.tests[p] {
			e := evidence{Attack: "tests: " + name, Promises: []int{p}, Operations: passed[name] + failed[name], Violations: failed[name]}
			if e.Operations == 0 {
				e.Error = "it did not run"
			}
			all = append(all, e)
		}
	}
	return all
}
