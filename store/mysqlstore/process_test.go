package mysqlstore_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/mysqlstore"
	"github.com/semel-dev/semel/store/storetest"
)

const (
	raceProcesses = 3
	raceKeys      = 150 // that the processes fight over
)

// childRace opens the store, waits until its standard input ends, races alone
// and prints the report, then claims every key, settles what it wins, and
// prints the names and fences it won.
func childRace(dsn string) int {
	err := childRaces(context.Background(), dsn)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func childRaces(ctx context.Context, dsn string) error {
	s, err := mysqlstore.Open(ctx, dsn, &mysqlstore.Options{MaxConns: testConns})
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Fprintln(os.Stdout, "ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	for _, i := range rand.Perm(raceKeys) {
		p := params(fmt.Sprint("k", i))
		p.Owner = semel.Owner{byte(os.Getpid()), byte(os.Getpid() >> 8), byte(os.Getpid() >> 16)}
		rec, won, err := s.Claim(ctx, p)
		if err == nil && won {
			fmt.Fprintf(os.Stdout, "%s %d\n", p.Name, rec.Fence)
			err = s.Settle(ctx, p.Digest, rec.Fence, completed(fmt.Sprintf("by %x", p.Owner)))
		}
		if err != nil {
			return err
		}
	}
	report, err := storetest.Race(ctx, func() (semel.Store, error) {
		return mysqlstore.Open(ctx, dsn, &mysqlstore.Options{MaxConns: 4})
	}, &storetest.RaceOptions{Stores: 2, Keys: 16})
	if err != nil {
		return err
	}
	fmt.Fprint(os.Stdout, "report ")
	return json.NewEncoder(os.Stdout).Encode(report)
}

// racer is one process of the race.
type racer struct {
	cmd *exec.Cmd
	in  io.Closer
	out *bufio.Reader
}

func startRacer(t *testing.T, dsn string) racer {
	t.Helper()
	cmd := childCommand(t, "race", dsn)
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
// twice, and all see the winner's outcome. The tables do not exist at first,
// so the processes also race to make them.
func TestProcessesShareTables(t *testing.T) {
	t.Parallel()
	dsn := testserver.MySQLDatabase(t)
	racers := make([]racer, raceProcesses)
	for i := range racers {
		racers[i] = startRacer(t, dsn)
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
	var wg sync.WaitGroup
	for i, r := range racers {
		wg.Go(func() {
			if _, err := outs[i].ReadFrom(r.out); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	winners, fences := map[string]bool{}, map[string]string{}
	for i := range outs {
		if err := racers[i].cmd.Wait(); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
		won := 0
		for line := range strings.Lines(outs[i].String()) {
			if report, ok := strings.CutPrefix(line, "report "); ok {
				wantNoViolation(t, report)
				continue
			}
			name, fence, _ := strings.Cut(strings.TrimSpace(line), " ")
			if winners[name] || fences[fence] != "" {
				t.Errorf("%s was won again, or fence %s given again (to %s)", name, fence, fences[fence])
			}
			winners[name], fences[fence] = true, name
			won++
		}
		t.Logf("process %d won %d", i, won)
	}
	if len(winners) != raceKeys {
		t.Errorf("%d intents were won, want %d", len(winners), raceKeys)
	}
	s := open(t, dsn, nil)
	for i := range raceKeys {
		rec, err := s.Lookup(t.Context(), params(fmt.Sprint("k", i)).Digest)
		if err != nil || string(rec.Outcome) != fmt.Sprintf("by %x", rec.Owner) {
			t.Errorf("k%d: got %q, error %v, want what %x settled", i, rec.Outcome, err, rec.Owner)
		}
	}
}

func wantNoViolation(t *testing.T, encoded string) {
	t.Helper()
	var report storetest.RaceReport
	if err := json.Unmarshal([]byte(encoded), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Violations) != 0 || report.Wins == 0 {
		t.Errorf("%d wins, violations %q", report.Wins, report.Violations)
	}
}
