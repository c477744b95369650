package flow_test

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/operator"
)

const (
	serverVar     = "SEMEL_FLOW_SERVER" // makes a test the process that TestTakenOver kills
	dsnVar        = "SEMEL_FLOW_DSN"
	placeVar      = "SEMEL_FLOW_PLACE"
	backgroundVar = "SEMEL_FLOW_BACKGROUND"
	there         = "there"
)

// TestDies begins a flow in a process of its own, and says when it is at the place where it is killed.
func TestDies(t *testing.T) { //nolint:paralleltest // it is a process.
	name := os.Getenv(serverVar)
	if name == "" {
		t.Skip("it is a process of TestTakenOver")
	}
	s := openTill(t, servers()[name].open(t, os.Getenv(dsnVar)), &semel.Options{Policy: semel.Policy{Lease: shortLease}})
	if os.Getenv(backgroundVar) != "" {
		s.background(t, time.Hour)
	}
	s.at = func(place string) {
		if place == os.Getenv(placeVar) {
			_, _ = os.Stdout.WriteString(there + "\n")
			select {}
		}
	}
	s.after = func() { s.at("after") }
	_, err := s.start(t)
	t.Errorf("the flow has ended: %v", err)
}

// background lets flows go on without a caller.
func (s *till) background(t *testing.T, every time.Duration) {
	t.Helper()
	s.flows = newFlows(t, s.guard, &flow.Options{
		Transactor: s.transactor, Background: &operator.Unattended{Every: every, MinPause: time.Millisecond},
	}, s.def)
}

// TestTakenOver: a process is killed by kill -9 at a place of a flow, and another one goes on with it: by a
// retry that waits, or by its background, without any caller. Each step has happened once (promises 3 and 4).
func TestTakenOver(t *testing.T) {
	t.Parallel()
	for name, server := range servers() {
		for _, place := range []string{"begin", "between", "last", "after"} {
			for _, by := range []string{"retry", "background"} {
				t.Run(name+"/"+place+"/"+by, func(t *testing.T) {
					t.Parallel()
					dsn := server.dsn(t)
					s := openTill(t, server.open(t, dsn), &semel.Options{Policy: semel.Policy{Lease: shortLease, Wait: time.Minute}})
					cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDies$")
					cmd.Env = append(os.Environ(), serverVar+"="+name, dsnVar+"="+dsn, placeVar+"="+place)
					if by == "background" {
						cmd.Env = append(cmd.Env, backgroundVar+"=1")
						s.background(t, 20*time.Millisecond)
					}
					killed(t, cmd, func() {
						if by == "background" {
							return
						}
						if got, err := s.start(t); err != nil || got != 2 {
							t.Errorf("got %d, %v, want the result", got, err)
						}
					})
					testserver.Eventually(t, "the flow is completed", func() bool {
						rec, err := s.guard.Lookup(t.Context(), flowKey)
						return err == nil && rec.State == semel.StateCompleted
					})
					if got, err := s.start(t); err != nil || got != 2 {
						t.Errorf("got %d, %v, want the result", got, err)
					}
					if sum, rows, err := s.sum(t.Context()); err != nil || sum != 11 || rows != 2 {
						t.Errorf("the ledger has the sum %d in %d rows, %v, want each step once", sum, rows, err)
					}
				})
			}
		}
	}
}

// killed kills a process when it says that it is there, while another one retries.
func killed(t *testing.T, cmd *exec.Cmd, retry func()) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := ""
	for lines := bufio.NewScanner(out); said != there && lines.Scan(); {
		said = lines.Text()
	}
	retried := make(chan struct{})
	if said == there {
		go func() {
			defer close(retried)
			retry()
		}()
	} else {
		t.Errorf("the process has ended: %s", said)
		close(retried)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	<-retried
}
