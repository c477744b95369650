package storecheck_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/cmd/semel/internal/storecheck"
	"github.com/semel-dev/semel/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shared is one memory for several stores.
type shared struct {
	semel.Store
	id int64
}

func (shared) Close() error { return nil }

// target opens stores on one memory, each through the breaker.
func target(breaker func(shared) semel.Store) storecheck.Target {
	memory := memstore.New(nil)
	var opened atomic.Int64
	return storecheck.Target{Kind: "test", Open: func(context.Context, *slog.Logger) (semel.Store, error) {
		return breaker(shared{memory, opened.Add(1)}), nil
	}}
}

func verdicts(t *testing.T, target storecheck.Target) map[string]storecheck.Finding {
	t.Helper()
	report, err := storecheck.Run(t.Context(), target, storecheck.Options{Keys: 8, Patience: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]storecheck.Finding{}
	broken := false
	for _, f := range report.Findings {
		found[f.Name] = f
		broken = broken || f.Verdict == storecheck.Broken || f.Verdict == storecheck.Failed || f.Verdict == storecheck.Limited
	}
	if report.Fine() == broken {
		t.Errorf("Fine() is %v, and something broke is %v", report.Fine(), broken)
	}
	return found
}

func TestHonestStore(t *testing.T) {
	t.Parallel()
	for name, f := range verdicts(t, target(func(s shared) semel.Store { return s })) {
		if f.Verdict != storecheck.Held && name != "transaction" || name == "transaction" && f.Verdict != storecheck.Untried {
			t.Errorf("%s: %s %v", name, f.Verdict, f.Details)
		}
	}
}

// TestLevelThatCannotBeHad: a pooler that refuses another isolation level breaks no promise.
func TestLevelThatCannotBeHad(t *testing.T) {
	t.Parallel()
	at := target(func(s shared) semel.Store { return s })
	at.Isolations = []string{"here", "refused"}
	at.OpenAt = func(ctx context.Context, isolation string) (semel.Store, error) {
		if isolation == "refused" {
			return nil, errors.New("unsupported startup parameter")
		}
		return at.Open(ctx, slog.New(slog.DiscardHandler))
	}
	found := verdicts(t, at)
	if f := found["race at here"]; f.Verdict != storecheck.Held {
		t.Errorf("got %s %q, want it held", f.Verdict, f.Details)
	}
	if f := found["race at refused"]; f.Verdict != storecheck.Untried || len(f.Details) != 1 || f.Advice == "" {
		t.Errorf("got %s %q, advice %q, want it not tried, and why", f.Verdict, f.Details, f.Advice)
	}
}

// TestBrokenStores: every broken promise must be found by its check.
func TestBrokenStores(t *testing.T) {
	t.Parallel()
	for check, breaker := range map[string]func(shared) semel.Store{
		"race":          func(s shared) semel.Store { return generous{s} },
		"former holder": func(s shared) semel.Store { return forgiving{s} },
		"reopened":      func(s shared) semel.Store { return shrinking{s} },
		"clock":         func(s shared) semel.Store { return jumpy{s} },
		"outcome":       func(s shared) semel.Store { return cutting{s} },
	} {
		t.Run(check, func(t *testing.T) {
			t.Parallel()
			f := verdicts(t, target(breaker))[check]
			if f.Verdict != storecheck.Broken || len(f.Details) == 0 || f.Advice == "" {
				t.Errorf("a broken store: %s, details %q, advice %q; want it broken, with both", f.Verdict, f.Details, f.Advice)
			}
		})
	}
}

// generous lets every caller win.
type generous struct{ shared }

func (s generous) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	rec, _, err := s.Store.Claim(ctx, p)
	return rec, true, err
}

// forgiving renews for any caller.
type forgiving struct{ shared }

func (forgiving) Renew(context.Context, semel.Digest, semel.Fence, time.Duration) error { return nil }

// shrinking gives lower fences each time it is opened.
type shrinking struct{ shared }

func (s shrinking) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	rec, won, err := s.Store.Claim(ctx, p)
	rec.Fence += semel.Fence(1_000_000 - 1000*s.id)
	return rec, won, err
}

func (s shrinking) Settle(ctx context.Context, d semel.Digest, f semel.Fence, to semel.Settlement) error {
	return s.Store.Settle(ctx, d, f-semel.Fence(1_000_000-1000*s.id), to)
}

// jumpy has a different clock on every second server.
type jumpy struct{ shared }

func (s jumpy) Lookup(ctx context.Context, d semel.Digest) (semel.Record, error) {
	rec, err := s.Store.Lookup(ctx, d)
	rec.ReadAt = rec.ReadAt.Add(time.Duration(s.id%2) * time.Second)
	return rec, err
}

// cutting truncates long outcomes.
type cutting struct{ shared }

func (s cutting) Settle(ctx context.Context, d semel.Digest, f semel.Fence, to semel.Settlement) error {
	to.Outcome = to.Outcome[:min(len(to.Outcome), 65535)]
	return s.Store.Settle(ctx, d, f, to)
}

// TestStepsAreRepeated: a server that interrupts the first try of every step, for example by a statement time-out,
// keeps its promises to a guard, which repeats them.
func TestStepsAreRepeated(t *testing.T) {
	t.Parallel()
	for name, f := range verdicts(t, target(func(s shared) semel.Store { return &abrupt{Store: s} })) {
		if f.Verdict != storecheck.Held && name != "transaction" {
			t.Errorf("%s: %s %v", name, f.Verdict, f.Details)
		}
	}
}

// TestLimits: a server with a limit breaks no promise, and the report names the limit.
func TestLimits(t *testing.T) {
	t.Parallel()
	found := verdicts(t, target(func(s shared) semel.Store { return narrow{s} }))
	if f := found["outcome"]; f.Verdict != storecheck.Limited || len(f.Details) != 1 || f.Advice == "" {
		t.Errorf("got %s %q, advice %q, want it limited", f.Verdict, f.Details, f.Advice)
	}
	if f := found["former holder"]; f.Verdict != storecheck.Held {
		t.Errorf("got %s %q, want it held", f.Verdict, f.Details)
	}
}

// abrupt interrupts every second step.
type abrupt struct {
	semel.Store
	steps atomic.Int64
}

func (s *abrupt) breaksOff() error {
	if s.steps.Add(1)%2 == 1 {
		return errors.New("canceling statement due to statement timeout")
	}
	return nil
}

func (s *abrupt) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	if err := s.breaksOff(); err != nil {
		return semel.Record{}, false, err
	}
	return s.Store.Claim(ctx, p)
}

func (s *abrupt) Renew(ctx context.Context, d semel.Digest, f semel.Fence, lease time.Duration) error {
	if err := s.breaksOff(); err != nil {
		return err
	}
	return s.Store.Renew(ctx, d, f, lease)
}

func (s *abrupt) Settle(ctx context.Context, d semel.Digest, f semel.Fence, to semel.Settlement) error {
	if err := s.breaksOff(); err != nil {
		return err
	}
	return s.Store.Settle(ctx, d, f, to)
}

// narrow only stores short outcomes.
type narrow struct{ shared }

func (s narrow) Settle(ctx context.Context, d semel.Digest, f semel.Fence, to semel.Settlement) error {
	if len(to.Outcome) > 16384 {
		return semel.ErrFull
	}
	return s.Store.Settle(ctx, d, f, to)
}
