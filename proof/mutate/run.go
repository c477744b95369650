package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// settings hold the flags.
type settings struct {
	only    *regexp.Regexp
	sample  int
	seed    uint64
	workers int
	log     io.Writer
}

// result describes how one mutant fared.
type result struct {
	mutant mutant
	failed []string // the tests that noticed
	took   time.Duration
	err    error
	absent string // the server that it needs
}

// run tries every mutant that matches and returns the exit code: 1 when one
// was not noticed, or could not be tried.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	s := &settings{log: stderr}
	only := flags.String("only", ".", "try the mutants whose mechanism, file or promise (as \"promise 5\") matches this expression")
	flags.IntVar(&s.sample, "sample", 0, "try so many of them, chosen at random (default: all)")
	flags.Uint64Var(&s.seed, "seed", uint64(time.Now().UnixNano()), "of the choice")
	flags.IntVar(&s.workers, "workers", 2, "mutants at a time")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	var err error
	if s.only, err = regexp.Compile(*only); err != nil {
		say(stderr, "mutate: -only: %v\n", err)
		return 2
	}
	if s.workers < 1 || s.sample < 0 || flags.NArg() > 0 {
		say(stderr, "mutate: -workers is at least 1, -sample at least 0, and only flags are accepted\n")
		return 2
	}
	began := time.Now()
	results, err := s.try(ctx)
	if err != nil {
		say(stderr, "mutate: %v\n", err)
		return 3
	}
	noticed, skipped := 0, 0
	code := 0
	for _, r := range results {
		switch {
		case r.absent != "":
			skipped++
		case r.err == nil:
			noticed++
		}
		if r.err != nil {
			say(stdout, "%s (%s): %v\n", r.mutant.mechanism, r.mutant.file, r.err)
			code = 1
		}
		if r.absent != "" && os.Getenv("SEMEL_REQUIRE_STORES") == "1" {
			code = 1
		}
	}
	printResults(stdout, results)
	if root, err := repository(ctx); s.sample == 0 && err == nil { // a sample, as CI tries, leaves the tree as it is
		if err := keep(filepath.Join(root, noticedFile), results); err != nil {
			say(stderr, "mutate: %v\n", err)
			code = 3
		}
	}
	say(stdout, "%d mutants in %v: %d noticed, %d not, %d skipped\n",
		len(results), time.Since(began).Round(time.Second), noticed, len(results)-noticed-skipped, skipped)
	return code
}

// try copies the tree once for every worker, checks that the named tests pass
// without a mutant, and then tries the mutants.
func (s *settings) try(ctx context.Context) (results []result, err error) {
	for _, m := range mutants() {
		if s.only.MatchString(m.mechanism) || s.only.MatchString(m.file) || s.only.MatchString(fmt.Sprint("promise ", m.promise, ".")) {
			results = append(results, result{mutant: m, absent: absentServer(m.server)})
		}
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("no mutant matches -only %s", s.only)
	}
	if s.sample > 0 && s.sample < len(results) {
		say(s.log, "%d of %d mutants (repeat with -sample %d -seed %d)\n", s.sample, len(results), s.sample, s.seed)
		random := rand.New(rand.NewPCG(s.seed, 0)) //nolint:gosec // a choice, not a secret.
		random.Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] })
		results = results[:s.sample]
	}
	dir, err := os.MkdirTemp("", "semel-mutate-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	trees := make([]*tree, s.workers)
	for i := range trees {
		if trees[i], err = copyTree(ctx, fmt.Sprintf("%s/%d", dir, i)); err != nil {
			return nil, err
		}
	}
	if err := s.baseline(ctx, trees[0], results); err != nil {
		return nil, err
	}
	next := make(chan *result)
	var tried atomic.Int64
	var workers sync.WaitGroup
	for _, t := range trees {
		workers.Go(func() {
			for r := range next {
				r.try(ctx, t)
				say(s.log, "%d/%d %s: %s\n", tried.Add(1), len(results), r.mutant.mechanism, r.verdict())
			}
		})
	}
	for i := range results {
		if results[i].absent == "" && ctx.Err() == nil {
			next <- &results[i]
		}
	}
	close(next)
	workers.Wait()
	return results, ctx.Err()
}

// baseline runs the named tests without a mutant: a test that fails anyway
// notices nothing.
func (s *settings) baseline(ctx context.Context, t *tree, results []result) error {
	tests := map[string][]string{}
	for _, r := range results {
		if r.absent == "" {
			tests[r.mutant.pkg] = append(tests[r.mutant.pkg], r.mutant.tests...)
		}
	}
	say(s.log, "the named tests without a mutant …\n")
	for pkg, names := range tests {
		binary, err := t.build(ctx, pkg)
		if err != nil {
			return err
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if out, passed := t.test(ctx, pkg, binary, name); !passed || !ran(out, name) {
				return fmt.Errorf("without any mutant, %s in %s does not pass:\n%s", name, pkg, cut(out))
			}
		}
	}
	return ctx.Err()
}

// absentServer names the server that is needed and not there.
func absentServer(env string) string {
	if env == "" || os.Getenv(env) != "" {
		return ""
	}
	return serverNames()[env]
}

func serverNames() map[string]string {
	return map[string]string{dbserver.EnvPostgres: "PostgreSQL", dbserver.EnvMySQL: "MariaDB", dbserver.EnvRedis: "Redis"}
}

// try applies the mutant, runs its tests and takes it back.
func (r *result) try(ctx context.Context, t *tree) {
	began := time.Now()
	defer func() { r.took = time.Since(began) }()
	undo, err := t.replace(r.mutant.file, r.mutant.old, r.mutant.with)
	if err != nil {
		r.err = err
		return
	}
	defer func() { r.err = errors.Join(r.err, undo()) }()
	binary, err := t.build(ctx, r.mutant.pkg)
	if err != nil {
		r.err = err
		return
	}
	for _, name := range r.mutant.tests { // one that notices is enough
		out, passed := t.test(ctx, r.mutant.pkg, binary, name)
		if passed {
			continue
		}
		if r.failed = failures(out, name); len(r.failed) == 0 {
			r.err = fmt.Errorf("%s did not fail, but something did:\n%s", name, cut(out))
		}
		return
	}
	r.err = fmt.Errorf("NOT NOTICED: none of %v in %s fails without it", r.mutant.tests, r.mutant.pkg)
}

func (r *result) verdict() string {
	if r.err != nil {
		return r.err.Error()
	}
	return "noticed by " + r.failed[0]
}

// say writes to a terminal, which may have gone.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
