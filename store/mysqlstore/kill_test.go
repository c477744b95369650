package mysqlstore_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/mysqlstore"
)

// childCycle claims and settles intents named after prefix in several
// goroutines until it is killed, and prints what was acknowledged: "claimed
// NAME FENCE" and "settled NAME FENCE".
func childCycle(dsn, prefix string) int {
	ctx := context.Background()
	s, err := mysqlstore.Open(ctx, dsn, &mysqlstore.Options{MaxConns: 4})
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
	for g := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				p := params(fmt.Sprintf("%s-%d-%d", prefix, g, i))
				rec, won, err := s.Claim(ctx, p)
				if err != nil || !won {
					fmt.Fprintln(os.Stderr, "claim:", won, err)
					return
				}
				say("claimed %s %d\n", p.Name, rec.Fence)
				if err := s.Settle(ctx, p.Digest, rec.Fence, completed("outcome of "+p.Name)); err != nil {
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

// acknowledged holds what killed processes had reported.
type acknowledged struct {
	claimed, settled map[string]semel.Fence
	fences           map[semel.Fence]string
	highest          semel.Fence
}

func newAcknowledged() *acknowledged {
	return &acknowledged{claimed: map[string]semel.Fence{}, settled: map[string]semel.Fence{}, fences: map[semel.Fence]string{}}
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
		if verb == "settled" {
			a.settled[name] = fence
			continue
		}
		a.claim(tb, name, fence)
	}
}

func (a *acknowledged) claim(tb testing.TB, name string, fence semel.Fence) {
	tb.Helper()
	if other := a.fences[fence]; other != "" {
		tb.Errorf("fence %d was given to %s and %s", fence, other, name)
	}
	a.claimed[name], a.fences[fence] = fence, name
	a.highest = max(a.highest, fence)
}

// wantAll fails unless everything acknowledged is there.
func (a *acknowledged) wantAll(t *testing.T, s semel.Store) {
	t.Helper()
	for name, fence := range a.claimed {
		rec, err := s.Lookup(t.Context(), params(name).Digest)
		if err != nil || rec.Fence != fence {
			t.Fatalf("%s: got fence %d, error %v, want the acknowledged claim %d", name, rec.Fence, err, fence)
		}
		if a.settled[name] != 0 && (rec.State != semel.StateCompleted || string(rec.Outcome) != "outcome of "+name) {
			t.Fatalf("%s: got %v with %q, want the acknowledged outcome", name, rec.State, rec.Outcome)
		}
	}
}

// Promises 1 and 2: a process that is killed at any instant loses no answer it
// has acknowledged, and leaves nothing locked: the next process goes on.
func TestKilled(t *testing.T) {
	t.Parallel()
	dsn := testserver.MySQLDatabase(t)
	s := open(t, dsn, nil)
	all := newAcknowledged()
	for round := range 4 {
		killOne(t, dsn, fmt.Sprint("round", round), all)
		p := params(fmt.Sprint("after round", round))
		rec := wins(t, s, p)
		if rec.Fence <= all.highest {
			t.Fatalf("claim after the kill: got fence %d, want > %d", rec.Fence, all.highest)
		}
		all.claim(t, p.Name, rec.Fence)
		all.wantAll(t, s)
	}
	if len(all.settled) == 0 {
		t.Error("no settlement was acknowledged: the test showed nothing")
	}
	t.Logf("%d claims, %d settlements", len(all.claimed), len(all.settled))
}

func killOne(t *testing.T, dsn, prefix string, all *acknowledged) {
	t.Helper()
	cmd := childCommand(t, "cycle", dsn, prefix)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first := bufio.NewReader(out)
	if _, err := first.Peek(1); err != nil { // it works
		t.Fatal(err)
	}
	killer := time.AfterFunc(time.Duration(50+rand.IntN(150))*time.Millisecond, func() { _ = cmd.Process.Kill() })
	defer killer.Stop()
	all.read(t, first)
	if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Fatalf("the child ended too early: %v", err)
	}
}
