package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// settings hold the flags.
type settings struct {
	total time.Duration
	seed  uint64
	only  *regexp.Regexp
	out   string
}

func parse(args []string, stderr io.Writer) (*settings, error) {
	s := &settings{}
	flags := flag.NewFlagSet("prove", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.DurationVar(&s.total, "for", time.Minute, "how long all scenarios take together, without starting servers and judging")
	flags.Uint64Var(&s.seed, "seed", uint64(time.Now().UnixNano()), "of the random steps and instants; these repeat, races do not")
	flags.StringVar(&s.out, "out", "", "the folder for histories that break a promise (default: a new one)")
	only := flags.String("only", "", "play the scenarios that match this expression, such as postgres, ^clock/ or soak/redis (default: all but soak)")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	var err error
	switch s.only, err = regexp.Compile(*only); {
	case err != nil:
		err = fmt.Errorf("-only: %w", err)
	case s.total <= 0 || flags.NArg() > 0:
		err = errors.New("-for must be positive, and only flags are accepted")
	}
	if err != nil {
		say(stderr, "prove: %v\n", err)
	}
	return s, err
}

// run plays the scenarios that match and returns the exit code: 1 when a
// promise was broken or a scenario proves nothing, 3 when nothing could be run.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == childWord {
		return runErrand(ctx, args[1:], stderr)
	}
	s, err := parse(args, stderr)
	if err != nil {
		return 2
	}
	if !supported {
		say(stderr, "prove: run this on Linux, whose processes share a clock that cannot be set\n")
		return 3
	}
	r, err := s.play(ctx, stderr)
	if err != nil {
		say(stderr, "prove: %v\n", err)
		return 3
	}
	r.print(stdout)
	if !r.holds() {
		return 1
	}
	return 0
}

// play plays the chosen scenarios one after the other.
func (s *settings) play(ctx context.Context, log io.Writer) (*report, error) {
	chosen := slices.DeleteFunc(scenarios(), func(sc scenario) bool {
		return !s.only.MatchString(sc.name()) || s.only.String() == "" && sc.kind == kindSoak
	})
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no scenario matches -only %s", s.only)
	}
	dir, err := os.MkdirTemp("", "semel-prove-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a folder of its own in that of the system
	if s.out == "" {
		s.out = dir + "-wrong"
	}
	home, err := dbserver.Open() //nolint:contextcheck // servers outlive ctx until they are ended.
	if err != nil {
		return nil, err
	}
	defer func() { //nolint:contextcheck // servers end even when ctx has ended.
		if err := home.Close(); err != nil {
			say(log, "prove: %v\n", err)
		}
	}()
	ps := &targets{home: home, dir: dir, report: func(err error) { say(log, "prove: %v\n", err) }}
	defer ps.close()
	st := &stage{out: s.out, log: log, seed: s.seed, binary: filepath.Join(dir, "semel")}
	if st.self, err = os.Executable(); err != nil {
		return nil, err
	}
	began := time.Now()
	say(log, "starting %d stores …\n", len(targetsOf(chosen)))
	if err := s.prepare(ctx, chosen, ps, st.binary, log); err != nil {
		return nil, err
	}
	say(log, "started in %v\n", time.Since(began).Round(time.Second/10))
	r := &report{seed: s.seed, out: s.out}
	shares := 0
	for _, sc := range chosen {
		shares += sc.share()
	}
	for i, sc := range chosen {
		say(log, "%d/%d %s …\n", i+1, len(chosen), sc.name())
		st.dir = filepath.Join(dir, fmt.Sprintf("run-%d-%d", s.seed, i))
		one, err := st.play(ctx, sc, ps.opened[sc.target()], s.total*time.Duration(sc.share())/time.Duration(shares))
		if err != nil {
			one = result{scenario: sc, err: err}
		}
		r.results = append(r.results, one)
	}
	_ = os.Remove(s.out) // it stays when something is in it
	return r, nil
}

// prepare opens the stores and builds semel, all at once.
func (s *settings) prepare(ctx context.Context, chosen []scenario, ps *targets, binary string, log io.Writer) error {
	needed := targetsOf(chosen)
	errs := make([]error, len(needed)+1)
	opened := make([]*target, len(needed))
	var wg sync.WaitGroup
	for i, sc := range needed {
		wg.Go(func() { opened[i], errs[i] = ps.open(ctx, sc) })
	}
	if slices.ContainsFunc(chosen, func(sc scenario) bool { return sc.kind == kindGateway || sc.kind == kindSoak }) {
		wg.Go(func() {
			build := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/semel-dev/semel/cmd/semel") //nolint:gosec // our own command.
			build.Stderr = log
			if err := build.Run(); err != nil {
				errs[len(needed)] = fmt.Errorf("build semel: %w", err)
			}
		})
	}
	wg.Wait()
	ps.opened = map[string]*target{}
	for i, sc := range needed {
		if opened[i] != nil {
			ps.opened[sc.target()] = opened[i]
		}
	}
	return errors.Join(errs...)
}

// targetsOf returns a scenario for each target that the chosen ones need.
func targetsOf(chosen []scenario) (needed []scenario) {
	seen := map[string]bool{}
	for _, sc := range chosen {
		if !seen[sc.target()] {
			needed = append(needed, sc)
		}
		seen[sc.target()] = true
	}
	return needed
}

// say writes to a terminal, which may have gone.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
