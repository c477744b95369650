package storetest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/storerace"
)

// childEnv names what a test binary does instead of running tests, when
// [Command] has started it as another process.
const childEnv = "SEMEL_STORETEST_CHILD"

// Children makes the test binary do its verb and exit where [Command] has
// started it, and returns at once otherwise. TestMain calls it first, with the
// verbs of its own and every value that it gives to [RunProcesses].
func Children(verbs map[string]func(ctx context.Context, args []string) error, ps ...Processes) {
	name := os.Getenv(childEnv)
	if name == "" {
		return
	}
	for _, p := range ps {
		for verb, do := range p.verbs() {
			if name == p.Name+" "+verb {
				exit(do(os.Args[1:]))
			}
		}
	}
	verb, ok := verbs[name]
	if !ok {
		exit(fmt.Errorf("TestMain gives storetest.Children no verb %q", name))
	}
	exit(verb(context.Background(), os.Args[1:]))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Command is this test binary as another process that does a verb of
// [Children].
func Command(tb testing.TB, verb string, args ...string) *exec.Cmd {
	tb.Helper()
	self, err := os.Executable()
	noError(tb, err)
	cmd := exec.CommandContext(tb.Context(), self, args...) //nolint:gosec // the test starts itself.
	cmd.Env = append(os.Environ(), childEnv+"="+verb, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd
}

func (p *Processes) verbs() map[string]func(args []string) error {
	return map[string]func(args []string) error{"share": p.share, "cycle": p.cycle, "work": p.work}
}

// params is the claim of an intent that processes share.
func (p *Processes) params(name string) semel.ClaimParams {
	key := semel.Key{Scope: "processes", Name: name}
	owner := semel.Owner{byte(os.Getpid()), byte(os.Getpid() >> 8), byte(os.Getpid() >> 16), 1} //nolint:gosec // it is small.
	return semel.ClaimParams{
		Digest: key.Digest(), Scope: key.Scope, Name: name, Owner: owner,
		Fingerprint: semel.FingerprintOf("processes", name), Lease: time.Hour, Retention: time.Hour,
	}
}

func outcomeOf(name string) semel.Settlement {
	return semel.Settlement{State: semel.StateCompleted, Kept: true, Outcome: []byte("outcome of " + name), Retention: time.Hour}
}

// share opens the store, waits until standard input ends, claims every intent
// in each round, and prints those it wins. All rounds
// but the last one release what they win. Then it races against itself.
func (p *Processes) share(args []string) error {
	ctx, place := context.Background(), args[0]
	s, err := p.Open(ctx, place)
	if err != nil {
		return err
	}
	g, err := semel.New(s, &semel.Options{SweepEvery: -1, Policy: semel.Policy{Wait: time.Minute}})
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(os.Stdout, "ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	for _, i := range rand.Perm(sharedKeys) { //nolint:gosec // a test repeats it by its seed.
		if p.Do == nil {
			break
		}
		name := fmt.Sprint("do", i)
		answer, err := p.Do(ctx, g, name)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintln(os.Stdout, "answer", name, answer, ".")
	}
	for round := range sharedRounds {
		for _, i := range rand.Perm(sharedKeys) { //nolint:gosec // a test repeats it by its seed.
			if err := p.claimShared(ctx, s, i, round); err != nil {
				return err
			}
		}
	}
	report, err := storerace.Run(ctx, func() (semel.Store, error) { return p.Open(ctx, place) }, &storerace.Options{Stores: 2, Keys: 16})
	if err == nil && len(report.Violations) > 0 {
		err = fmt.Errorf("violations: %q", report.Violations)
	}
	if err != nil {
		return err
	}
	return s.Close()
}

func (p *Processes) claimShared(ctx context.Context, s semel.Store, i, round int) error {
	params := p.params(fmt.Sprint("k", i))
	params.Owner[4] = byte(round) //nolint:gosec // it is small.
	rec, won, err := s.Claim(ctx, params)
	if err != nil || !won {
		return err
	}
	settlement, verb := semel.Settlement{State: semel.StateReleased}, "won"
	if round == sharedRounds-1 {
		settlement, verb = outcomeOf(params.Name), "done"
	}
	_, _ = fmt.Fprintln(os.Stdout, verb, params.Name, rec.Fence, ".")
	return s.Settle(ctx, params.Digest, rec.Fence, settlement)
}

// cycle claims and settles intents named after prefix until the process is
// killed, and prints what was acknowledged.
func (p *Processes) cycle(args []string) error {
	s, err := p.Open(context.Background(), args[0])
	if err != nil {
		return err
	}
	return inLanes(args[1], func(ctx context.Context, name string, say func(...any)) error {
		rec, won, err := s.Claim(ctx, p.params(name))
		if err != nil || !won {
			return fmt.Errorf("claim %s: won %v, error %w", name, won, err)
		}
		say("claimed", name, rec.Fence, ".")
		if err := s.Settle(ctx, rec.Digest, rec.Fence, outcomeOf(name)); err != nil {
			return err
		}
		say("settled", name, rec.Fence, ".")
		return nil
	})
}

// work executes intents named after prefix in transactions until the process
// is killed, and prints those it got an answer for.
func (p *Processes) work(args []string) error {
	s, err := p.Open(context.Background(), args[0])
	if err != nil {
		return err
	}
	g, err := semel.New(s, &semel.Options{SweepEvery: -1})
	if err != nil {
		return err
	}
	return inLanes(args[1], func(ctx context.Context, name string, say func(...any)) error {
		answer, err := p.Do(ctx, g, name)
		if err == nil {
			say("answered", name, answer, ".")
		}
		return err
	})
}

// inLanes does one intent after the other in several goroutines, until one fails.
func inLanes(prefix string, do func(ctx context.Context, name string, say func(...any)) error) error {
	const lanes = 6
	var mu sync.Mutex // guards standard output, a line at a time
	say := func(words ...any) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = fmt.Fprintln(os.Stdout, words...)
	}
	var wg sync.WaitGroup
	errs := make([]error, lanes)
	for lane := range lanes {
		wg.Go(func() {
			for i := 0; errs[lane] == nil; i++ {
				errs[lane] = do(context.Background(), fmt.Sprintf("%s-%d-%d", prefix, lane, i), say)
			}
		})
	}
	wg.Wait()
	return errs[slices.IndexFunc(errs, func(err error) bool { return err != nil })]
}

// said is a line that a child prints: a verb, a name, and a fence or an answer.
type said struct{ verb, name, word string }

// listen gives every whole line to heard until the output ends.
func listen(out *bufio.Reader, heard func(said)) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var s said
		var end string
		if n, _ := fmt.Sscan(lines.Text(), &s.verb, &s.name, &s.word, &end); n == 4 { // a kill cuts lines off
			heard(s)
		}
	}
}
