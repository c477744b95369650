package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/semel-dev/semel/internal/testserver/dbserver"
)

// settings are what the flags say.
type settings struct {
	total   time.Duration
	seed    uint64
	writers int
	dir     string // for files; removed at the end
	binary  string // semel
	self    string // this program
	log     io.Writer
	json    bool
	home    *dbserver.Home
}

// scenario is one store in one mode.
type scenario struct {
	name    string
	backend func(context.Context, *settings) (backend, error)
	run     func(context.Context, *settings, backend, time.Duration, *rand.Rand) (result, error)
}

func scenarios() []scenario {
	return []scenario{
		{"postgres/transaction", openPostgres, runTransaction},
		{"mysql/transaction", openMySQL, runTransaction},
		{"sqlite/transaction", openSQLite, runTransaction},
		{"postgres/gateway", openPostgres, runGateway},
		{"mysql/gateway", openMySQL, runGateway},
		{"redis/gateway", openRedis, runGateway},
		{"sqlite/gateway", openSQLite, runGateway},
	}
}

// run tortures the scenarios whose names match and returns the exit code: 1
// when anything happened twice.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == childWriter {
		return runWriter(ctx, args[1:], stdout, stderr)
	}
	if len(args) > 0 && args[0] == childApp {
		return runApp(ctx, args[1:], stdout, stderr)
	}
	flags := flag.NewFlagSet("torture", flag.ContinueOnError)
	flags.SetOutput(stderr)
	s := &settings{log: stderr}
	flags.DurationVar(&s.total, "for", time.Minute, "how long, all scenarios together")
	flags.Uint64Var(&s.seed, "seed", uint64(time.Now().UnixNano()), "of the random instants; instants repeat, races do not")
	flags.IntVar(&s.writers, "writers", 4, "writers at a time")
	flags.BoolVar(&s.json, "json", false, "print what was found as JSON")
	only := flags.String("only", ".", "run the scenarios that match this expression, such as postgres or transaction")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		say(stderr, "torture: -only: %v\n", err)
		return 2
	}
	chosen := slices.DeleteFunc(scenarios(), func(sc scenario) bool { return !match.MatchString(sc.name) })
	if len(chosen) == 0 || s.total <= 0 || s.writers < 1 || flags.NArg() > 0 {
		say(stderr, "torture: -only matches at least one scenario, -for is longer than nothing, -writers is at least 1, and there are no arguments but flags\n")
		return 2
	}
	if err := s.prepare(ctx); err != nil {
		say(stderr, "torture: %v\n", err)
		return 3
	}
	defer s.close() //nolint:contextcheck // servers end whatever became of ctx.
	return s.torture(ctx, chosen, stdout)
}

func (s *settings) prepare(ctx context.Context) (err error) {
	if s.dir, err = os.MkdirTemp("", "semel-torture-"); err != nil {
		return err
	}
	if s.self, err = os.Executable(); err != nil {
		return err
	}
	s.binary = filepath.Join(s.dir, "semel")
	build := exec.CommandContext(ctx, "go", "build", "-o", s.binary, "github.com/semel-dev/semel/cmd/semel") //nolint:gosec // our own command.
	build.Stderr = s.log
	if err := build.Run(); err != nil {
		return fmt.Errorf("build semel: %w", err)
	}
	s.home, err = dbserver.Open() //nolint:contextcheck // servers outlive ctx until they are ended.
	return err
}

func (s *settings) close() {
	if s.home != nil {
		if err := s.home.Close(); err != nil {
			say(s.log, "torture: %v\n", err)
		}
	}
	if err := os.RemoveAll(s.dir); err != nil {
		say(s.log, "torture: %v\n", err)
	}
}

// torture runs the scenarios one after the other and prints what they came to.
func (s *settings) torture(ctx context.Context, chosen []scenario, stdout io.Writer) int {
	text := stdout
	if s.json {
		text = s.log
	}
	say(text, "seed %d\n", s.seed)
	code := 0
	var results []result
	var all []evidence
	for i, sc := range chosen {
		random := rand.New(rand.NewPCG(s.seed, uint64(i))) //nolint:gosec // instants, not secrets.
		say(s.log, "%s …\n", sc.name)
		r, err := s.one(ctx, sc, s.total/time.Duration(len(chosen)), random)
		r.name = sc.name
		if err != nil {
			say(s.log, "torture: %s: %v\n", sc.name, err)
			code = max(code, 3)
		}
		results, all = append(results, r), append(all, r.evidence(err))
		for _, v := range r.violations {
			say(text, "%s: %s\n", sc.name, v)
		}
		if len(r.violations) > 0 || err == nil && !r.worked() {
			code = 1
		}
	}
	printResults(text, results)
	if s.json && printEvidence(stdout, all) != nil {
		return 3
	}
	return code
}

func (s *settings) one(ctx context.Context, sc scenario, long time.Duration, random *rand.Rand) (r result, err error) {
	b, err := sc.backend(ctx, s)
	if err != nil {
		return r, err
	}
	defer func() {
		if closeErr := b.close(); err == nil {
			err = closeErr
		}
	}()
	return sc.run(ctx, s, b, long, random)
}

// say writes to a terminal, which may have gone.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
