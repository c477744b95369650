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
				v := job.Run(t.Context(), semel.Do[struct{}], g, job.Key("test", "k", "charge"), semel.Fingerprint{1}, func(context.Context) error {
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
	key := job.Key("test", "k", "charge")
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

// A digest takes the place of ids that a guard would refuse, and different ids have different keys.
func TestKeysAreValid(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 200)
	names := []string{"charge-17", "a b ", "Ame\u0301lie", "Am\u00e9lie", strings.Repeat("x", 255), strings.Repeat("x", 256), long, long + "x", "a\nb", "a\x00b", "\xff"}
	seen := map[semel.Key]string{}
	for _, name := range names {
		for _, kind := range []string{"charge", "refund", strings.Repeat("k", 600), "a\tb"} {
			k := job.Key("test", name, kind)
			claimtest.NoError(t, k.Validate())
			if other, found := seen[k]; found {
				t.Errorf("%q of %q has the key of %s", name, kind, other)
			}
			seen[k] = name + " of " + kind
		}
	}
	if got, want := job.Key("test", "charge-17", "eu", "charge"), (semel.Key{Scope: "semel:test:eu:charge", Name: "charge-17"}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if job.Key("test", "1", "a:b", "c") == job.Key("test", "1", "a", "b:c") || job.Key("test", "1", "a:b", "c") == job.Key("test", "1", "a%3Ab", "c") {
		t.Error("two pairs of kinds have one key")
	}
}

// KeyFor is the same in every attempt, under whatever secret, and empty outside of a job.
func TestKeyFor(t *testing.T) {
	t.Parallel()
	store := memstore.New(nil)
	claimtest.Closes(t, store)
	seen := map[string]int{}
	for _, secret := range []string{"the first secret of 32 bytes and more", "the second secret of 32 bytes and more"} {
		g, err := semel.New(store, &semel.Options{Secrets: [][]byte{[]byte(secret)}})
		claimtest.NoError(t, err)
		claimtest.Closes(t, g)
		for _, name := range []string{"a", "b"} {
			v := job.Run(t.Context(), semel.Do[struct{}], g, job.Key("test", name, "charge"), semel.Fingerprint{1}, func(ctx context.Context) error {
				seen[job.KeyFor(ctx)]++
				return io.EOF
			})
			if v.Act != job.Fail {
				t.Errorf("got %+v", v)
			}
		}
	}
	if len(seen) != 2 {
		t.Errorf("got the keys %v, want two, twice each", seen)
	}
	for key, n := range seen {
		if n != 2 || len(key) != 64 {
			t.Errorf("got the key %q %d times", key, n)
		}
	}
	if got := job.KeyFor(t.Context()); got != "" {
		t.Errorf("outside of a job: got %q", got)
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
