package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	pretty "github.com/jedib0t/go-pretty/v6/table"
)

// program is an attack that is a program of its own and prints evidence.
type program struct {
	kind string
	args []string
}

// run attacks and returns the exit code: 1 when a promise was broken or not
// attacked, 3 when something could not be run at all.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("prove", flag.ContinueOnError)
	flags.SetOutput(stderr)
	long := flags.Duration("for", time.Minute, "how long the histories, and then the torture, go on")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *long <= 0 || flags.NArg() > 0 {
		say(stderr, "prove: -for is longer than nothing, and there are no arguments but flags\n")
		return 2
	}
	g, err := readGuarantees(guaranteesFile)
	if err != nil {
		say(stderr, "prove: %v (start it from the repository's root)\n", err)
		return 3
	}
	var all []evidence
	code := 0
	for _, p := range []program{
		{"model", []string{"./internal/model", "-json"}},
		{"histories", []string{"./internal/histories", "-json", "-for", long.String()}},
		{"torture", []string{"./internal/torture", "-json", "-for", long.String()}},
	} {
		say(stderr, "prove: %s …\n", p.kind)
		found, err := p.run(ctx, stderr)
		if err != nil {
			say(stderr, "prove: %s: %v\n", p.kind, err)
			code = 3
		}
		all = append(all, found...)
	}
	say(stderr, "prove: tests …\n")
	found, err := runTests(ctx, g, stderr)
	if err != nil {
		say(stderr, "prove: tests: %v\n", err)
		code = 3
	}
	lines := sum(append(all, found...), g.titles)
	printLines(stdout, lines)
	for i := range lines {
		for _, attack := range lines[i].broken {
			say(stdout, "promise %d: %s\n", lines[i].promise, attack)
			code = max(code, 1)
		}
	}
	return code
}

// run runs the program and reads its evidence. One that found a violation ends
// with 1 and has evidence all the same.
func (p *program) run(ctx context.Context, log io.Writer) ([]evidence, error) {
	command := exec.CommandContext(ctx, "go", append([]string{"run"}, p.args...)...) //nolint:gosec // our own programs.
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, log
	err := command.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return nil, err
	}
	found, readErr := readEvidence(p.kind, out.Bytes())
	if readErr != nil {
		return nil, errors.Join(err, readErr)
	}
	return found, nil
}

func readEvidence(kind string, text []byte) ([]evidence, error) {
	var report struct {
		Results []evidence `json:"results"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, fmt.Errorf("read its evidence: %w", err)
	}
	if len(report.Results) == 0 {
		return nil, errors.New("it found nothing to say")
	}
	for i := range report.Results {
		report.Results[i].Attack = kind + ": " + report.Results[i].Attack
	}
	return report.Results, nil
}

func kindText(kind string, n int) string { return fmt.Sprintf("%s (%d)", kind, n) }

func printLines(w io.Writer, lines []line) {
	out := pretty.NewWriter()
	out.SetOutputMirror(w)
	out.SetStyle(pretty.StyleLight)
	out.AppendHeader(pretty.Row{"promise", "", "attacked by", "operations", "faults", "violations"})
	for i := range lines {
		l := &lines[i]
		out.AppendRow(pretty.Row{l.promise, l.name, strings.Join(l.attacks, ", "), l.operations, l.faults, l.violations})
	}
	out.Render()
}

// say writes to a terminal, which may have gone.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
