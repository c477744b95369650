package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
	"github.com/semel-dev/semel/internal/waiting"
)

const (
	warmUp  = 10 * time.Second // in which the rate is measured
	samples = 720              // of a run: one in 5 s for an hour
)

// settings hold the flags.
type settings struct {
	long  time.Duration
	store string
	out   string
	rate  float64
}

func parse(args []string, stderr io.Writer) (*settings, error) {
	s := &settings{}
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.DurationVar(&s.long, "for", time.Hour, "how long; at least a minute")
	flags.StringVar(&s.store, "store", "postgres", "the store of the gateways: "+strings.Join(stores(), ", "))
	flags.StringVar(&s.out, "out", ".", "the folder for soak-STORE.csv and soak-STORE.svg")
	flags.Float64Var(&s.rate, "rate", 0, "requests a second (default: half of what the gateways serve)")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	var err error
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("%q is not a flag", flags.Arg(0))
	case s.long < time.Minute:
		err = errors.New("-for must be at least 1m: less shows nothing of what grows")
	case s.rate < 0:
		err = errors.New("-rate must not be negative")
	case !slices.Contains(stores(), s.store):
		err = fmt.Errorf("-store %q: want one of %s", s.store, strings.Join(stores(), ", "))
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "soak: %v\n", err)
	}
	return s, err
}

// run returns the exit code: 1 when a promise was broken or something grew, 2
// for wrong flags, 3 when nothing could be run.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	found, err := s.play(ctx, stderr)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "soak: %v\n", err)
		return 3
	}
	found.print(stdout)
	if !found.holds() {
		return 1
	}
	return 0
}

// play starts everything, lets it run, and judges what it saw.
func (s *settings) play(ctx context.Context, log io.Writer) (*report, error) {
	home, err := dbserver.Open() //nolint:contextcheck // servers outlive ctx until they are ended.
	if err != nil {
		return nil, err
	}
	defer home.Close() //nolint:errcheck,contextcheck // the keeper removes what this leaves.
	dir, err := os.MkdirTemp("", "semel-soak-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a folder of its own in that of the system.
	st := &stage{dir: dir, keys: [2]string{newKey(), newKey()}}
	defer st.close()
	if err := st.build(ctx, s, home, log); err != nil {
		return nil, err
	}
	c := newCrowd(st.fronts(), s.rate)
	if s.rate == 0 {
		_, _ = fmt.Fprintf(log, "measuring the rate for %v …\n", warmUp)
		c.pace(c.measure(ctx, warmUp) / 2)
	}
	_, _ = fmt.Fprintf(log, "%.0f requests a second for %v on %s …\n", c.rate(), s.long, s.store)
	series, err := s.endure(ctx, st, c, log)
	if err != nil {
		return nil, err
	}
	r := judge(series, c, st.app)
	return r, s.write(series)
}

// endure lets callers and disturbances go on for the whole time, and samples.
func (s *settings) endure(ctx context.Context, st *stage, c *crowd, log io.Writer) (*series, error) {
	began := time.Now()
	lasting, cancel := context.WithTimeout(ctx, s.long)
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() { c.ask(lasting) })
	var troubled error
	all.Go(func() {
		if troubled = st.trouble(lasting, s.long, log); troubled != nil {
			cancel()
		}
	})
	found := &series{store: s.store, rate: c.rate()}
	every := s.long / samples
	for waiting.Sleep(lasting, every) {
		found.add(st.sample(lasting, time.Since(began), c))
		if n := len(found.all); n%(samples/12) == 0 {
			_, _ = fmt.Fprintf(log, "%v: %v\n", time.Since(began).Round(time.Second), found.all[n-1])
		}
	}
	all.Wait()
	if troubled != nil {
		return nil, troubled
	}
	return found, ctx.Err()
}

// write leaves the samples and their chart.
func (s *settings) write(found *series) error {
	if err := os.MkdirAll(s.out, 0o755); err != nil { //nolint:gosec // for people.
		return err
	}
	name := filepath.Join(s.out, "soak-"+s.store)
	return errors.Join(
		os.WriteFile(name+".csv", found.csv(), 0o644),           //nolint:gosec // for people.
		os.WriteFile(name+".svg", []byte(found.chart()), 0o644)) //nolint:gosec // for people.
}
