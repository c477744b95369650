package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// settings are what the flags say.
type settings struct {
	total time.Duration
	seed  uint64
	only  *regexp.Regexp
	out   string
	json  bool
}

func parse(args []string, stderr io.Writer) (*settings, error) {
	s := &settings{}
	flags := flag.NewFlagSet("histories", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.DurationVar(&s.total, "for", time.Minute, "how long, all scenarios together, without starting servers and judging")
	flags.Uint64Var(&s.seed, "seed", uint64(time.Now().UnixNano()), "of the random steps and instants; these repeat, races do not")
	flags.StringVar(&s.out, "out", "", "the folder for histories that are wrong (default: a new one)")
	flags.BoolVar(&s.json, "json", false, "print the results as JSON")
	only := flags.String("only", ".", "play the scenarios that match this expression, such as postgres, /clock or mysql/crash")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	var err error
	switch s.only, err = regexp.Compile(*only); {
	case err != nil:
		err = fmt.Errorf("-only: %w", err)
	case s.total <= 0 || flags.NArg() > 0:
		err = errors.New("-for is longer than nothing, and there are no arguments but flags")
	}
	if err != nil {
		say(stderr, "histories: %v\n", err)
	}
	return s, err
}

// run plays the scenarios that match and returns the exit code: 1 when a
// promise was broken or nobody can tell.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == childWord {
		return runChild(ctx, args[1:], stderr)
	}
	s, err := parse(args, stderr)
	if err != nil {
		return 2
	}
	if !supported {
		say(stderr, "histories: run this on Linux, whose processes share a clock that nobody sets\n")
		return 3
	}
	r, err := s.play(ctx, stderr)
	if err != nil {
		say(stderr, "histories: %v\n", err)
		return 3
	}
	if s.json {
		if err := r.printJSON(stdout); err != nil {
			say(stderr, "histories: %v\n", err)
			return 3
		}
	} else {
		r.print(stdout)
	}
	if !r.holds() {
		return 1
	}
	return 0
}

// play plays the chosen scenarios one after the other.
func (s *settings) play(ctx context.Context, log io.Writer) (*report, error) {
	var chosen []scenario
	for _, sc := range scenarios() {
		if s.only.MatchString(sc.name()) {
			chosen = append(chosen, sc)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no scenario matches -only %s", s.only)
	}
	dir, err := os.MkdirTemp("", "semel-histories-")
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
	defer func() { //nolint:contextcheck // servers end whatever became of ctx.
		if err := home.Close(); err != nil {
			say(log, "histories: %v\n", err)
		}
	}()
	ps := &places{home: home, dir: dir, opened: map[string]*place{}, report: func(err error) { say(log, "histories: %v\n", err) }}
	defer ps.close() //nolint:contextcheck // proxies end whatever became of ctx.
	r := &report{Seed: s.seed, Out: s.out}
	for i, sc := range chosen {
		say(log, "%s …\n", sc.name())
		one, err := s.one(ctx, sc, ps, filepath.Join(dir, fmt.Sprintf("run-%d-%d", s.seed, i)), log, s.total/time.Duration(len(chosen)))
		if err != nil {
			one = result{Scenario: sc.name(), Store: sc.store, Fault: sc.fault, Promises: sc.promises(), Error: err.Error()}
		}
		r.Results = append(r.Results, one)
	}
	_ = os.Remove(s.out) //nolint:gosec // the user named it, and it stays when something is in it.
	return r, nil
}

func (s *settings) one(ctx context.Context, sc scenario, ps *places, dir string, log io.Writer, long time.Duration) (result, error) {
	p, err := ps.of(ctx, sc.store, sc.fault)
	if err != nil {
		return result{}, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil { //nolint:gosec // in our own folder.
		return result{}, err
	}
	st := &stage{dir: dir, out: s.out, log: log, seed: s.seed}
	if st.self, err = os.Executable(); err != nil {
		return result{}, err
	}
	return st.play(ctx, sc, p, long)
}

// say writes to a terminal, which may have gone.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
