package sqlitestore_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore"
)

// childCycle claims and settles intents named after prefix in eight
// goroutines until it is killed, and prints what was acknowledged:
// "claimed NAME FENCE" and "settled NAME FENCE".
func childCycle(path, prefix string) int {
	s, err := sqlitestore.Open(context.Background(), path, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var mu sync.Mutex // guards the lines
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(os.Stdout, format, args...)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				p := params(fmt.Sprintf("%s-%d-%d", prefix, g, i))
				rec, won, err := s.Claim(context.Background(), p)
				if err != nil || !won {
					fmt.Fprintln(os.Stderr, "claim:", won, err)
					return
				}
				say("claimed %s %d\n", p.Name, rec.Fence)
				if err := s.Settle(context.Background(), p.Digest, rec.Fence, completed("outcome of "+p.Name)); err != nil {
					fmt.Fprintln(os.Stderr, "settle:", err)
					return
				}
				say("settled %s %d\n", p.Name, rec.Fence)
			}
		})
	}
	wg.Wait()
	return 1
}

// acknowledged is what a killed process had said.
type acknowledged struct {
	claimed, settled map[string]semel.Fence
	highest          semel.Fence
}

func (a *acknowledged) read(tb testing.TB, from io.Reader) {
	tb.Helper()
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		var verb, name string
		var fence semel.Fence
		if _, err := fmt.Sscan(lines.Text(), &verb, &name, &fence); err != nil {
			continue // the line that the kill cut off
		}
		if verb == "claimed" {
			if fence <= a.highest && a.claimed[name] != 0 {
				tb.Errorf("fence %d was given twice", fence)
			}
			a.claimed[name] = fence
			a.highest = max(a.highest, fence)
		} else {
			a.settled[name] = fence
		}
	}
}

// Promises 1 and 2: a process that is killed at any instant loses no answer it
// has acknowledged, and fences grow on.
func TestKilled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "semel.db")
	all := &acknowledged{claimed: map[string]semel.Fence{}, settled: map[string]semel.Fence{}}
	for round := range 8 {
		before := all.highest
		killOne(t, path, fmt.Sprint("round", round), all)
		s := open(t, path, nil)
		check(t, path)
		p := params(fmt.Sprint("after round", round))
		rec, won, err := s.Claim(t.Context(), p)
		if err != nil || !won || rec.Fence <= all.highest {
			t.Fatalf("claim after the kill: won %v, error %v, fence %d, want > %d", won, err, rec.Fence, all.highest)
		}
		all.highest = rec.Fence
		t.Logf("round %d: fences %d to %d, %d settlements in all", round, before, all.highest, len(all.settled))
		wantAll(t, s, all)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(all.settled) == 0 {
		t.Error("no settlement was acknowledged: the test showed nothing")
	}
}

func killOne(t *testing.T, path, prefix string, all *acknowledged) {
	t.Helper()
	cmd := childCommand(t, "cycle", path, prefix)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killer := time.AfterFunc(time.Duration(100+rand.IntN(300))*time.Millisecond, func() { _ = cmd.Process.Kill() })
	defer killer.Stop()
	all.read(t, out)
	if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Fatalf("the child ended by itself: %v", err)
	}
}

func wantAll(t *testing.T, s *sqlitestore.Store, all *acknowledged) {
	t.Helper()
	for name, fence := range all.claimed {
		rec, err := s.Lookup(t.Context(), params(name).Digest)
		if err != nil || rec.Fence != fence {
			t.Fatalf("%s: got fence %d, error %v, want the acknowledged claim %d", name, rec.Fence, err, fence)
		}
		if all.settled[name] != 0 && (rec.State != semel.StateCompleted || string(rec.Outcome) != "outcome of "+name) {
			t.Fatalf("%s: got %v with %q, want the acknowledged outcome", name, rec.State, rec.Outcome)
		}
	}
}
