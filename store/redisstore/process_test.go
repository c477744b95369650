package redisstore_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/storerace"
	"github.com/semel-dev/semel/store/redisstore"
)

// race races several stores over the DSN; whatever happens to their
// connections, nothing may be violated.
func race(tb testing.TB, dsn string, o *storerace.Options) storerace.Report {
	tb.Helper()
	if o == nil {
		o = &storerace.Options{Keys: 24}
	}
	open := func() (s semel.Store, err error) {
		for range 100 { // where connections break, they do so here too
			if s, err = redisstore.Open(tb.Context(), dsn, nil); err == nil {
				break
			}
		}
		return s, err
	}
	report, err := storerace.Run(tb.Context(), open, o)
	if err != nil || len(report.Violations) != 0 {
		tb.Errorf("got violations %q, error %v, want none", report.Violations, err)
	}
	return report
}

// Promise 1, over several connections of one process.
func TestRace(t *testing.T) {
	t.Parallel()
	for name, p := range places() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			race(t, p.dsn(t), nil)
		})
	}
}

const (
	raceKeys   = 200
	raceRounds = 3
)

// childRace opens the store, waits until its standard input ends, and then
// claims and releases every intent a few times, and at last completes what it
// wins. It prints the name and the fence of each win.
func childRace(args []string) int {
	dsn, who := args[0], args[1]
	ctx := context.Background()
	s, err := redisstore.Open(ctx, dsn, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(os.Stdout, "ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for round := range raceRounds + 1 {
		for _, i := range rand.Perm(raceKeys) {
			p := by(who[0], params(fmt.Sprint("k", i)))
			p.Owner[1] = byte(round + 1)
			rec, won, err := s.Claim(ctx, p)
			if err == nil && won {
				to := semel.Settlement{State: semel.StateReleased}
				if round == raceRounds {
					to = completed(who)
					fmt.Fprintf(os.Stdout, "done %s %d\n", p.Name, rec.Fence)
				} else {
					fmt.Fprintf(os.Stdout, "won %s %d\n", p.Name, rec.Fence)
				}
				err = s.Settle(ctx, p.Digest, rec.Fence, to)
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
	}
	if err := s.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// racer is one process of the race.
type racer struct {
	cmd *exec.Cmd
	in  io.Closer
	out *bufio.Reader
}

func startRacer(t *testing.T, dsn, who string) racer {
	t.Helper()
	cmd := childCommand(t, "race", dsn, who)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return racer{cmd: cmd, in: in, out: bufio.NewReader(out)}
}

// Promise 1 between processes: each intent is completed once, no fence is given
// twice, each process sees its fences grow, and all see the winner's outcome.
func TestProcesses(t *testing.T) {
	t.Parallel()
	for name, p := range places() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := p.dsn(t)
			racers := make([]racer, 3)
			for i := range racers {
				racers[i] = startRacer(t, dsn, string(rune('a'+i)))
			}
			for i, r := range racers {
				if line, err := r.out.ReadString('\n'); err != nil || line != "ready\n" {
					t.Fatalf("process %d: got %q, error %v", i, line, err)
				}
			}
			for _, r := range racers {
				if err := r.in.Close(); err != nil {
					t.Fatal(err)
				}
			}
			outs := make([]bytes.Buffer, len(racers))
			for i, r := range racers {
				if _, err := outs[i].ReadFrom(r.out); err != nil {
					t.Fatal(err)
				}
				if err := r.cmd.Wait(); err != nil {
					t.Fatalf("process %d: %v", i, err)
				}
			}
			checkRace(t, open(t, dsn, nil), outs)
		})
	}
}

func checkRace(t *testing.T, s semel.Store, outs []bytes.Buffer) {
	t.Helper()
	winners, fences := map[string]string{}, map[string]string{}
	for i := range outs {
		who, last := string(rune('a'+i)), uint64(0)
		for line := range strings.Lines(outs[i].String()) {
			words := strings.Fields(line)
			name, fence := words[1], words[2]
			if other := fences[fence]; other != "" {
				t.Errorf("fence %s was given for %s and %s", fence, other, name)
			}
			fences[fence] = name
			f, err := strconv.ParseUint(fence, 10, 64)
			if err != nil || f <= last {
				t.Errorf("process %s won with fence %s after %d, error %v", who, fence, last, err)
			}
			last = f
			if words[0] != "done" {
				continue
			}
			if other := winners[name]; other != "" {
				t.Errorf("%s was completed by %s and %s", name, other, who)
			}
			winners[name] = who
		}
	}
	if len(winners) != raceKeys {
		t.Errorf("%d of %d intents were completed", len(winners), raceKeys)
	}
	for name, who := range winners {
		rec, err := s.Lookup(t.Context(), params(name).Digest)
		if err != nil || string(rec.Outcome) != who {
			t.Errorf("%s: got outcome %q, error %v, want %q", name, rec.Outcome, err, who)
		}
	}
}
