package flow_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/memstore"
)

// A step after the flow's claim has ended.
func TestStepAfterTheClaim(t *testing.T) {
	t.Parallel()
	g, _, _ := inMemory(t, semel.Options{Policy: semel.Policy{MaxRun: 50 * time.Millisecond}}, nil)
	ran := false
	def := flow.Define("buy", func(r *flow.Run, _ int) (int, error) {
		<-r.Context().Done()
		return flow.Call(r, "x", 1, func(context.Context, int) (int, error) { ran = true; return 1, nil })
	})
	_, err := flow.Start(t.Context(), newFlows(t, g, nil, def), def, adasKey, 1)
	if ran {
		t.Errorf("a step began although the flow was lost: %v", err)
	}
	t.Log(err)
}

type originDies struct {
	*memstore.Store
	dead <-chan struct{}
}

func (s originDies) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	if strings.HasPrefix(p.Name, "origin ") {
		<-s.dead
		return semel.Record{}, false, errDown
	}
	return s.Store.Claim(ctx, p)
}

// The first process dies between the claim and the origin; a second Accept has said that it is recorded.
func TestAcceptInFlightIsNotRecorded(t *testing.T) {
	t.Parallel()
	dead := make(chan struct{})
	g1, store, _ := inMemory(t, semel.Options{}, func(s semel.Store) semel.Store { return originDies{s.(*memstore.Store), dead} })
	t.Cleanup(func() { close(dead) })
	g2 := another(t, store, semel.Policy{Wait: 50 * time.Millisecond})
	def := flow.Define("buy", func(*flow.Run, int) (int, error) { return 1, nil })
	o := &flow.Options{Background: &operator.Unattended{Every: 5 * time.Millisecond}}
	f1, f2 := newFlows(t, g1, &flow.Options{Background: &operator.Unattended{Every: time.Hour}}, def), newFlows(t, g2, o, def)
	go func() { _ = flow.Accept(t.Context(), f1, def, adasKey, 1) }()
	testserver.Eventually(t, "the flow is claimed", func() bool {
		_, err := store.Lookup(t.Context(), flowKey.Digest())
		return err == nil
	})
	if err := flow.Accept(t.Context(), f2, def, adasKey, 1); !errors.Is(err, semel.ErrInFlight) {
		t.Errorf("got %v, want ErrInFlight: nothing is recorded of the first attempt but its claim", err)
	}
}

// An operator cancelled a step, the function went another way, and finished but for its answer: then it is late.
func TestLateAfterACancelledStep(t *testing.T) {
	t.Parallel()
	g, _, clock := inMemory(t, semel.Options{}, nil)
	var stock int
	failing := true
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		if _, err := flow.Call(r, "express", 1, func(context.Context, int) (int, error) { return 0, errDown }); err != nil {
			if isUnfinished(err) || failing && !isFinal(err) {
				return "", err
			}
			if _, err := flow.Call(r, "post", 1, func(context.Context, int) (int, error) { stock++; return 1, nil },
				flow.Undo(func(context.Context, int) error { stock--; return nil })); err != nil {
				return "", err
			}
			if failing {
				panic("the process dies")
			}
			return "posted", nil
		}
		return "express", nil
	})
	f := newFlows(t, g, nil, def)
	_, err := flow.Start(t.Context(), f, def, adasKey, 1)
	p, ok := errors.AsType[*flow.Parked](err)
	if !ok {
		t.Fatal(err)
	}
	if err := settle(t, g, p.Digest, semel.Settlement{State: semel.StateCancelled, Note: "by post", Retention: 144 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = flow.Start(t.Context(), f, def, adasKey, 1)
	}()
	failing = false
	clock.Advance(73 * time.Hour)
	got, err := flow.Start(t.Context(), f, def, adasKey, 1)
	t.Logf("%q %v stock %d", got, err, stock)
	if stock != 1 {
		t.Errorf("every step had ended, and it is undone: %v", err)
	}
}

func isFinal(err error) bool {
	_, ok := errors.AsType[*semel.FinalError](err)
	return ok
}

// An input that cannot be kept is refused before anything is recorded: no background could go on with it.
func TestAcceptTooLarge(t *testing.T) {
	t.Parallel()
	g, _, _ := inMemory(t, semel.Options{Policy: semel.Policy{MaxOutcomeBytes: 500}}, nil)
	def := flow.Define("buy", func(*flow.Run, string) (int, error) { return 1, nil })
	f := newFlows(t, g, &flow.Options{Background: &operator.Unattended{Every: time.Hour}}, def)
	start := func(in string) error { _, err := flow.Start(t.Context(), f, def, adasKey, in); return err }
	accept := func(in string) error { return flow.Accept(t.Context(), f, def, adasKey, in) }
	for _, door := range []func(string) error{accept, start} {
		if err := door(strings.Repeat("x", 500)); err == nil || !strings.Contains(err.Error(), "its input has 502 bytes, and 500 can be kept") {
			t.Errorf("got %v, want the input refused", err)
		}
		if _, err := g.Lookup(t.Context(), flowKey); !errors.Is(err, semel.ErrNotFound) {
			t.Errorf("got %v, want nothing recorded", err)
		}
	}
	if err := accept(strings.Repeat("x", 498)); err != nil {
		t.Error(err)
	}
}
