package temporal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/server/temporaltest"

	"github.com/semel-dev/semel"
	semeltemporal "github.com/semel-dev/semel/adapters/temporal"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
)

// TestTwoAttempts: an attempt that is slower than its time limit goes on while Temporal runs the activity again. Without the adapter both take
// effect; with it the second one gets the result of the first.
func TestTwoAttempts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		protected bool
		charged   int32
	}{"without the adapter": {false, 2}, "with the adapter": {true, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			seen := &attempts{began: make(chan struct{}, 2)}
			interceptors := []interceptor.WorkerInterceptor{seen}
			if c.protected {
				interceptors = append(interceptors, protect(t, t.TempDir(), semeltemporal.Options{}))
			}
			var ran, ended, charged atomic.Int32
			caller := connect(t, s, s.GetFrontendHostPort())
			work(t, caller, func(_ context.Context, amount int) (int, error) {
				defer ended.Add(1)
				if ran.Add(1) == 1 {
					for range 2 {
						<-seen.began // slow: it outlives its limit, and the second attempt has begun
					}
				}
				charged.Add(1)
				return amount, nil
			}, interceptors...)
			wantCharged(t, start(t, caller, 10), 10)
			testserver.Eventually(t, "no attempt runs any more", func() bool { return ended.Load() == ran.Load() })
			if n := charged.Load(); n != c.charged {
				t.Errorf("charged %d times, want %d", n, c.charged)
			}
		})
	}
}

// TestCutConnection: a worker whose connection breaks after the effect cannot report the result. The next attempt reports it.
func TestCutConnection(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	proxy := testserver.NewProxy(t, s.GetFrontendHostPort())
	var charged atomic.Int32
	work(t, connect(t, s, proxy.Addr()), func(_ context.Context, amount int) (int, error) {
		charged.Add(1)
		proxy.Down()
		return amount, nil
	}, protect(t, t.TempDir(), semeltemporal.Options{}))
	run := start(t, connect(t, s, s.GetFrontendHostPort()), 10)
	testserver.Eventually(t, "the activity has charged", func() bool { return charged.Load() == 1 })
	// Only the attempt's time limit lets Temporal begin another one.
	testserver.Eventually(t, "Temporal gave the attempt up", func() bool { return pendingAttempt(t, s, run) > 1 })
	proxy.Up()
	wantCharged(t, run, 10)
	if n := charged.Load(); n != 1 {
		t.Errorf("charged %d times", n)
	}
}

const (
	victimFolder    = "SEMEL_TEMPORAL_FOLDER"
	victimAddress   = "SEMEL_TEMPORAL_ADDRESS"
	victimNamespace = "SEMEL_TEMPORAL_NAMESPACE"
)

// victim is a worker in a process of its own that charges and then hangs, until it is killed.
func victim(folder string) int {
	err := func() error {
		ctx := context.Background()
		guard, _, err := openGuard(ctx, folder)
		if err != nil {
			return err
		}
		activities, err := semeltemporal.New(guard, &semeltemporal.Options{Policy: semel.Policy{Lease: lease}})
		if err != nil {
			return err
		}
		c, err := dial(os.Getenv(victimAddress), os.Getenv(victimNamespace))
		if err != nil {
			return err
		}
		_, err = newWorker(c, func(context.Context, int) (int, error) {
			if err := os.WriteFile(filepath.Join(folder, "charged"), nil, 0o600); err != nil {
				return 0, err
			}
			select {}
		}, activities)
		return err
	}()
	if err == nil {
		select {}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// TestKilledWorker: a worker is killed after the effect. What another worker does with the activity depends on what is known: it fails, or the
// effect is looked up and either recorded or repeated.
func TestKilledWorker(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		verdict semel.Verdict
		again   int32 // charges after the kill
	}{"nothing is known": {semel.StillUnknown, 0}, "it happened": {semel.Happened, 0}, "it did not happen": {semel.NotHappened, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, folder := newServer(t), t.TempDir()
			process := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // the test itself.
			process.Env = append(os.Environ(), victimFolder+"="+folder, victimAddress+"="+s.GetFrontendHostPort(), victimNamespace+"="+s.GetDefaultNamespace())
			var said bytes.Buffer
			process.Stderr = &said
			claimtest.NoError(t, process.Start())
			caller := connect(t, s, s.GetFrontendHostPort())
			run := start(t, caller, 10)
			testserver.Eventually(t, "the victim has charged", func() bool {
				_, err := os.Stat(filepath.Join(folder, "charged"))
				return err == nil
			})
			claimtest.NoError(t, process.Process.Kill())
			_ = process.Wait()

			o := semeltemporal.Options{}
			if c.verdict != semel.StillUnknown {
				o.Policy.OnUnknown = semel.Reconcile
				o.Policy.Reconcile = func(context.Context, semel.Record) (semel.Reconciliation, error) {
					r := semel.Reconciliation{Verdict: c.verdict, Kept: c.verdict == semel.Happened}
					if c.verdict == semel.Happened {
						var err error
						if r.Outcome, err = semeltemporal.OutcomeOf(11, nil); err != nil {
							return r, err
						}
					}
					return r, nil
				}
			}
			var charged atomic.Int32
			work(t, caller, func(_ context.Context, amount int) (int, error) {
				charged.Add(1)
				return amount, nil
			}, protect(t, folder, o))
			switch c.verdict {
			case semel.StillUnknown:
				e, ok := errors.AsType[*temporal.ApplicationError](run.Get(t.Context(), nil))
				if !ok || e.Type() != "SemelUnknown" {
					t.Errorf("got %v", e)
				}
			case semel.Happened:
				wantCharged(t, run, 11)
			case semel.NotHappened:
				wantCharged(t, run, 10)
			}
			if n := charged.Load(); n != c.again {
				t.Errorf("charged %d times after the kill, want %d", n, c.again)
			}
		})
	}
}

// pendingAttempt returns the number of the attempt of the workflow's activity.
func pendingAttempt(t *testing.T, s *temporaltest.TestServer, run client.WorkflowRun) int32 {
	t.Helper()
	d, err := s.GetDefaultClient().DescribeWorkflowExecution(t.Context(), run.GetID(), run.GetRunID())
	claimtest.NoError(t, err)
	for _, a := range d.GetPendingActivities() {
		return a.GetAttempt()
	}
	return 0
}
