package sqlitestore_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore"
)

// raceKeys is how many intents two processes fight over.
const raceKeys = 300

// childRace opens the store, waits until its standard input ends, claims every
// intent, settles what it wins, and prints the names and fences it won.
func childRace(path, who string) int {
	s, err := sqlitestore.Open(context.Background(), path, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(os.Stdout, "ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, i := range rand.Perm(raceKeys) {
		p := params(fmt.Sprint("k", i))
		p.Owner = semel.Owner{who[0]}
		rec, won, err := s.Claim(context.Background(), p)
		if err == nil && won {
			fmt.Fprintf(os.Stdout, "%s %d\n", p.Name, rec.Fence)
			err = s.Settle(context.Background(), p.Digest, rec.Fence, completed(who))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
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

func startRacer(t *testing.T, path, who string) racer {
	t.Helper()
	cmd := childCommand(t, "race", path, who)
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

// Promise 1 between processes: each intent is won once, no fence is given
// twice, and all see the winner's outcome. The file does not exist at first,
// so the processes also race to create and migrate it.
func TestProcessesShareOneFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "semel.db")
	racers := make([]racer, 3)
	for i := range racers {
		racers[i] = startRacer(t, path, string(rune('a'+i)))
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
	winners, fences := map[string]string{}, map[string]string{}
	for i := range outs {
		who := string(rune('a' + i))
		for line := range strings.Lines(outs[i].String()) {
			name, fence, _ := strings.Cut(strings.TrimSpace(line), " ")
			if other := winners[name]; other != "" {
				t.Errorf("%s was won by %s and %s", name, other, who)
			}
			if other := fences[fence]; other != "" {
				t.Errorf("fence %s was given for %s and %s", fence, other, name)
			}
			winners[name], fences[fence] = who, name
		}
		t.Logf("process %s won %d", who, strings.Count(outs[i].String(), "\n"))
	}
	s := open(t, path, nil)
	for i := range raceKeys {
		name := fmt.Sprint("k", i)
		rec, err := s.Lookup(t.Context(), params(name).Digest)
		if err != nil || winners[name] == "" || string(rec.Outcome) != winners[name] {
			t.Errorf("%s: got %q, error %v, want %q", name, rec.Outcome, err, winners[name])
		}
	}
	check(t, path)
}

// Two stores in one process are as good as two processes.
func TestTwoStoresOneFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "semel.db")
	a, b := open(t, path, nil), open(t, path, nil)
	rec, won, err := a.Claim(t.Context(), params("k"))
	if err != nil || !won {
		t.Fatalf("won %v, error %v", won, err)
	}
	other := params("k")
	other.Owner = semel.Owner{2}
	if _, won, err := b.Claim(t.Context(), other); err != nil || won {
		t.Errorf("the other store: won %v, error %v, want the claim held", won, err)
	}
	if err := b.Settle(t.Context(), rec.Digest, rec.Fence, completed("x")); err != nil {
		t.Error(err)
	}
	if got, err := a.Lookup(t.Context(), rec.Digest); err != nil || string(got.Outcome) != "x" {
		t.Errorf("got %q, error %v, want x", got.Outcome, err)
	}
	next, _, err := a.Claim(t.Context(), params("next"))
	if err != nil || next.Fence != rec.Fence+1 {
		t.Errorf("got fence %d, error %v, want %d", next.Fence, err, rec.Fence+1)
	}
}

// Whoever opens a file while others create and migrate it finds it right.
func TestOpeningRaces(t *testing.T) {
	t.Parallel()
	for range 6 {
		path := filepath.Join(t.TempDir(), "semel.db")
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				s, err := sqlitestore.Open(t.Context(), path, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}
