package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// maxLine bounds a line of go test -json.
const maxLine = 16 << 20

// run starts the server and runs the suites that match on it.
func (p *target) run(ctx context.Context, suites *regexp.Regexp, log io.Writer) (row row, err error) {
	undo, err := p.placed()
	if err != nil {
		return row, err
	}
	defer func() {
		undo()
		for _, name := range []string{dbserver.EnvPostgresBin, dbserver.EnvRedisBin, dbserver.EnvPostgresConf, dbserver.EnvMySQLConf, dbserver.EnvRedisConf} {
			err = errors.Join(err, os.Unsetenv(name))
		}
	}()
	for name, value := range p.conf {
		if err := os.Setenv(name, value); err != nil {
			return row, err
		}
	}
	home, err := dbserver.Open() //nolint:contextcheck // servers end with this process, whatever the context
	if err != nil {
		return row, err
	}
	defer func() { err = errors.Join(err, home.Close()) }() //nolint:contextcheck // the same
	variable, value, version, err := p.start(ctx, home)
	if err != nil {
		return row, err
	}
	row.Version, _, _ = strings.Cut(version, " (") // without the package's
	row.Cells = map[string]cell{}
	for i := range p.suites {
		s := &p.suites[i]
		if !suites.MatchString(s.column) {
			continue
		}
		c, err := s.runOn(ctx, variable, value)
		if err != nil {
			return row, fmt.Errorf("%s: %w", s.column, err)
		}
		row.Cells[s.column] = c
		_, _ = fmt.Fprintf(log, "%s (%s): %s: %d passed, %d failed\n", p.name, row.Version, s.column, c.Passed, len(c.Failed))
		for _, name := range slices.Sorted(maps.Keys(c.Failed)) {
			_, _ = fmt.Fprintf(log, "    %s: %s\n", name, c.Failed[name])
		}
	}
	return row, nil
}

// runOn runs the suite on the server that the variable names. Tests that do not ask for that server do not count.
func (s *suite) runOn(ctx context.Context, variable, value string) (c cell, err error) {
	if s.config != "" {
		return s.browse(ctx)
	}
	dir, err := os.MkdirTemp("", "semel-compat-")
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	used := filepath.Join(dir, "used")
	args := []string{"test", "-json", "-count=1", "-vet=off", "-timeout=15m"}
	if s.run != "" {
		args = append(args, "-run="+s.run)
	}
	if s.skip != "" {
		args = append(args, "-skip="+s.skip)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, s.packages...)...) //nolint:gosec // our own packages
	cmd.Env = append(os.Environ(), dbserver.EnvUseLog+"="+used)
	if variable != "" {
		cmd.Env = append(cmd.Env, variable+"="+value)
	}
	if s.long {
		cmd.Env = append(cmd.Env, "SEMEL_LONG=1")
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return c, err
	}
	tests, err := readEvents(out)
	ended := cmd.Wait() // an error for tests that fail, which the events tell
	if err != nil {
		return c, err
	}
	names, err := usedBy(used, variable)
	if err != nil {
		return c, err
	}
	if variable == "" {
		names = slices.Collect(testNames(tests))
	}
	if c = count(tests, names); c.Passed+len(c.Failed) == 0 || ended != nil && len(c.Failed) == 0 {
		return c, fmt.Errorf("go %s: %w: %d tests ran", strings.Join(cmd.Args[1:], " "), errors.Join(ended, ctx.Err()), len(tests))
	}
	return c, nil
}

// test holds the outcome of a test.
type test struct {
	action string // pass, fail or skip
	output []string
}

// readEvents reads the output of go test -json. Tests are named by package and name; a package that ends outside of its
// tests has an empty name.
func readEvents(in io.Reader) (map[string]*test, error) {
	tests := map[string]*test{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var e struct{ Action, Package, Test, Output string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("read go test -json: %w: %s", err, lines.Text())
		}
		if e.Package == "" {
			continue // the build
		}
		name := strings.TrimPrefix(e.Package, "github.com/semel-dev/semel/") + " " + e.Test
		t := tests[name]
		if t == nil {
			t = &test{}
			tests[name] = t
		}
		switch e.Action {
		case "output":
			t.output = append(t.output, e.Output)
		case "pass", "fail", "skip":
			t.action = e.Action
		}
	}
	return tests, lines.Err()
}

// usedBy returns the names of the tests that asked for the server of the variable.
func usedBy(file, variable string) ([]string, error) {
	text, err := os.ReadFile(file) //nolint:gosec // our own
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		if name, found := strings.CutSuffix(strings.TrimSpace(line), " "+variable); found {
			names = append(names, name)
		}
	}
	return names, nil
}

// count counts the tests without subtests that used the server, or whose parents did. All failures count.
func count(tests map[string]*test, used []string) cell {
	c := cell{Failed: map[string]string{}}
	parents := map[string]bool{}
	for name := range tests {
		for i := strings.LastIndex(name, "/"); i > strings.Index(name, " "); i = strings.LastIndex(name[:i], "/") {
			parents[name[:i]] = true
		}
	}
	uses := func(name string) bool {
		_, name, _ = strings.Cut(name, " ")
		return slices.ContainsFunc(used, func(u string) bool { return name == u || strings.HasPrefix(name, u+"/") })
	}
	for name, t := range tests {
		switch {
		case t.action == "pass" && !parents[name] && uses(name):
			c.Passed++
		case t.action == "fail" && !strings.HasSuffix(name, " ") && !failedBelow(tests, name):
			c.Failed[name] = t.said()
		case t.action == "" && !strings.HasSuffix(name, " "):
			c.Failed[name] = "did not end"
		}
	}
	return c
}

// testNames yields the names of tests without their packages.
func testNames(tests map[string]*test) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range tests {
			if _, name, _ = strings.Cut(name, " "); name != "" && !yield(name) {
				return
			}
		}
	}
}

// failedBelow reports whether a subtest of the test failed.
func failedBelow(tests map[string]*test, name string) bool {
	for other, t := range tests {
		if t.action == "fail" && strings.HasPrefix(other, name+"/") {
			return true
		}
	}
	return false
}

// said returns the first line that a test reported.
func (t *test) said() string {
	for _, line := range t.output {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			return line[:min(len(line), 300)]
		}
	}
	return ""
}
