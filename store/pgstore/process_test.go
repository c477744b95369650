package pgstore_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/storerace"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/pgstore"
)

// raceKeys counts the intents that the processes fight over.
const raceKeys = 200

// childRace opens the store, waits until its standard input ends, claims every
// intent, settles what it wins, and prints the names and fences it won. Then it
// races against itself next to the other processes.
func childRace(dsn, schema, who string) int {
	ctx := context.Background()
	open := func() (semel.Store, error) {
		return pgstore.Open(ctx, dsn, &pgstore.Options{Schema: schema, MaxConns: 3})
	}
	s, err := open()
	if err == nil {
		fmt.Fprintln(os.Stdout, "ready")
		_, err = io.Copy(io.Discard, os.Stdin)
	}
	for _, i := range rand.Perm(raceKeys) {
		if err != nil {
			break
		}
		p := params(fmt.Sprint("k", i))
		p.Owner = semel.Owner{who[0]}
		var rec semel.Record
		var won bool
		if rec, won, err = s.Claim(ctx, p); err == nil && won {
			fmt.Fprintf(os.Stdout, "%s %d\n", p.Name, rec.Fence)
			err = s.Settle(ctx, p.Digest, rec.Fence, completed(who))
		}
	}
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	report, err := storerace.Run(ctx, open, &storerace.Options{Stores: 2, Keys: 16})
	if err != nil || len(report.Violations) > 0 {
		fmt.Fprintln(os.Stderr, report.Violations, err)
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

func startRacer(t *testing.T, args ...string) racer {
	t.Helper()
	cmd := childCommand(t, "race", args...)
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
// twice, and all see the winner's outcome. The schema does not exist at first,
// so the processes also race to create it.
func TestProcessesShareOneSchema(t *testing.T) {
	t.Parallel()
	dsn, schema := testserver.Postgres(t), testserver.PostgresSchema(t)
	racers := make([]racer, 3)
	for i := range racers {
		racers[i] = startRacer(t, dsn, schema, string(rune('a'+i)))
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
	s := open(t, &pgstore.Options{Schema: schema})
	for i := range raceKeys {
		name := fmt.Sprint("k", i)
		rec, err := s.Lookup(t.Context(), params(name).Digest)
		if err != nil || winners[name] == "" || string(rec.Outcome) != winners[name] {
			t.Errorf("%s: got %q, error %v, want %q", name, rec.Outcome, err, winners[name])
		}
	}
}
