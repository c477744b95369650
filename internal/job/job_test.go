package job_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/job"
	"github.com/semel-dev/semel/store/memstore"
)

// Every end of an attempt has one verdict, and so does every later attempt.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		work         error
		first, later job.Act
		runs         int
	}{
		"success":    {nil, job.Done, job.Done, 1},
		"an error":   {io.EOF, job.Fail, job.Fail, 2},
		"final":      {semel.MarkFinal(io.EOF), job.Never, job.Never, 1},
		"unknown":    {semel.MarkUnknown(io.EOF), job.Fail, job.Never, 1},
		"a time-out": {context.DeadlineExceeded, job.Fail, job.Never, 1},
		"released":   {semel.MarkReleased(context.DeadlineExceeded), job.Fail, job.Fail, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := guard(t, semel.Policy{})
			runs := 0
			for _, want := range []job.Act{c.first, c.later} {
				v := job.Run(t.Context(), semel.Do[struct{}], g, job.Key("test", "charge", "k"), semel.Fingerprint{1}, func(context.Context) error {
					runs++
					return c.work
				})
				if v.Act != want || (v.Err == nil) != (want == job.Done) {
					t.Errorf("got %+v, want %v", v, want)
				}
			}
			if runs != c.runs {
				t.Errorf("the work ran %d times, want %d", runs, c.runs)
			}
		})
	}
}

// What the guard refuses is not an error of the work.
func TestRefusals(t *testing.T) {
	t.Parallel()
	g := guard(t, semel.Policy{})
	key := job.Key("test", "charge", "k")
	claim, _, err := g.Begin(t.Context(), key, semel.Fingerprint{1})
	claimtest.NoError(t, err)
	never := func(context.Context) error {
		t.Error("the work ran")
		return nil
	}
	again := job.Run(t.Context(), semel.Do[struct{}], g, key, semel.Fingerprint{1}, never)
	if again.Act != job.Again || again.After <= time.Second || again.After > semel.DefaultLease {
		t.Errorf("while a twin runs: got %+v, want Again after the rest of its lease", again)
	}
	other := job.Run(t.Context(), semel.Do[struct{}], g, key, semel.Fingerprint{2}, never)
	if other.Act != job.Never || !errors.Is(other.Err, semel.ErrMismatch) || !strings.Contains(other.Err.Error(), "semel records show") {
		t.Errorf("other work under the key: got %+v, want Never with a hint", other)
	}
	claimtest.NoError(t, claim.Cancel("not wanted"))
	if v := job.Run(t.Context(), semel.Do[struct{}], g, key, semel.Fingerprint{1}, never); v.Act != job.Never {
		t.Errorf("cancelled: got %+v, want Never", v)
	}

	asked := guard(t, semel.Policy{OnUnknown: semel.Reconcile, Reconcile: func(context.Context, semel.Record) (semel.Reconciliation, error) {
		return semel.Reconciliation{Again: time.Minute}, nil
	}})
	claim, _, err = asked.Begin(t.Context(), key, semel.Fingerprint{1})
	claimtest.NoError(t, err)
	claimtest.NoError(t, claim.Unknown("no answer"))
	if v := job.Run(t.Context(), semel.Do[struct{}], asked, key, semel.Fingerprint{1}, never); v.Act != job.Again || v.After != time.Minute {
		t.Errorf("unknown, and asked: got %+v, want Again in a minute", v)
	}
}

// A job is remembered for longer than its runner repeats it, unless the policy says otherwise.
func TestGuard(t *testing.T) {
	t.Parallel()
	if p := guard(t, semel.Policy{}).Policy(); p.Retention != job.Retention || p.UnknownRetention != job.Retention || p.Wait != semel.NoWait {
		t.Errorf("got %+v", p)
	}
	if p := guard(t, semel.Policy{Retention: time.Hour, Wait: time.Second}).Policy(); p.Retention != time.Hour || p.Wait != time.Second {
		t.Errorf("got %+v", p)
	}
	if _, err := job.Guard(nil, semel.Policy{}); err == nil {
		t.Error("no guard: got no error")
	}
}

// Names of different parts differ, whatever characters are in them.
func TestNamesDiffer(t *testing.T) {
	t.Parallel()
	if got := job.Name("eu", "charge/17"); got != "eu/charge/17" {
		t.Errorf("got %q", got)
	}
	seen := map[string][]string{}
	for _, parts := range [][]string{{"a", "b/c"}, {"a/b", "c"}, {"a%2Fb", "c"}, {"a%252Fb", "c"}, {"", "a/b/c"}, {"/a", "b/c"}, {"a", ""}, {"", "a"}} {
		name := job.Name(parts...)
		if other, found := seen[name]; found {
			t.Errorf("%q and %q have the name %q", parts, other, name)
		}
		seen[name] = parts
	}
}

func guard(t *testing.T, p semel.Policy) *semel.Guard {
	t.Helper()
	s := memstore.New(nil)
	claimtest.Closes(t, s)
	g, err := semel.New(s, nil)
	claimtest.NoError(t, err)
	claimtest.Closes(t, g)
	g, err = job.Guard(g, p)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
