package pgstore_test

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
	"github.com/semel-dev/semel/store/pgstore"
)

// childCycle claims and settles intents named after prefix in eight
// goroutines until it is killed, and prints what was acknowledged:
// "claimed NAME FENCE" and "settled NAME FENCE".
func childCycle(dsn, schema, prefix string) int {
	s, err := pgstore.Open(context.Background(), dsn, &pgstore.Options{Schema: schema, MaxConns: 4})
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

// acknowledged holds what killed processes had reported.
type acknowledged struct {
	claimed, settled map[string]semel.Fence
	highest          semel.Fence
}

func (a *acknowledged) read(tb testing.TB, from io.Reader) {
	tb.Helper()
	seen := map[semel.Fence]bool{}
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		var verb, name string
		var fence semel.Fence
		if _, err := fmt.Sscan(lines.Text(), &verb, &name, &fence); err != nil {
			continue // the line that the kill cut off
		}
		if verb == "claimed" {
			if seen[fence] {
				tb.Errorf("fence %d was given twice", fence)
			}
			seen[fence], a.claimed[name] = true, fence
			a.highest = max(a.highest, fence)
		} else {
			a.settled[name] = fence
		}
	}
}

// Promises 1 and 2: a process that is killed at any instant loses no answer it
// has acknowledged, and leaves nothing behind that others would wait for.
func TestKilled(t *testing.T) {
	t.Parallel()
	o := &pgstore.Options{Schema: testserver.PostgresSchema(t)}
	s := open(t, o)
	all := &acknowledged{claimed: map[string]semel.Fence{}, settled: map[string]semel.Fence{}}
	for round := range 5 {
		killOne(t, o.Schema, fmt.Sprint("round", round), all)
		rec := wins(t, s, params(fmt.Sprint("after round", round)))
		if rec.Fence <= all.highest {
			t.Fatalf("claim after the kill: got fence %d, want > %d", rec.Fence, all.highest)
		}
		all.highest = rec.Fence
		t.Logf("round %d: %d settlements in all", round, len(all.settled))
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
	if len(all.settled) == 0 {
		t.Error("no settlement was acknowledged: the test showed nothing")
	}
}

func killOne(t *testing.T, schema, prefix string, all *acknowledged) {
	t.Helper()
	cmd := childCommand(t, "cycle", testserver.Postgres(t), schema, prefix)
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
	killer := time.AfterFunc(time.Duration(50+rand.IntN(200))*time.Millisecond, func() { _ = cmd.Process.Kill() })
	defer killer.Stop()
	all.read(t, first)
	if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Fatalf("the child ended too early: %v", err)
	}
}
