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
)

// till is a flow of two bookings over a ledger, of which the second ends it.
type till struct {
	ledger

	guard *semel.Guard
	flows *flow.Flows
	def   *flow.Definition[int, int]
	at    func(place string)              // before, between and in the steps
	last  func(ctx context.Context) error // in the last step, behind its row
	after func()                          // behind the last step
}

func openTill(t *testing.T, l ledger, o *semel.Options) *till {
	t.Helper()
	s := &till{ledger: l, at: func(string) {}, last: func(context.Context) error { return nil }, after: func() {}}
	guard, err := semel.New(l.store, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = guard.Close(), l.store.Close() })
	s.guard = guard
	s.def = flow.Define("buy", func(r *flow.Run, amount int) (int, error) {
		s.at("begin")
		if _, err := flow.Tx(r, "order", amount, func(ctx context.Context, amount int) (int, error) { return amount, l.add(ctx, amount) },
			flow.Undo(func(ctx context.Context, amount int) error { return l.add(ctx, -amount) })); err != nil {
			return 0, err
		}
		defer s.after()
		s.at("between")
		return flow.Finish(r, "points", amount, func(ctx context.Context, amount int) (int, error) {
			s.at("last")
			return 2 * amount, errors.Join(l.add(ctx, 10*amount), s.last(ctx))
		})
	})
	s.flows = newFlows(t, guard, &flow.Options{Transactor: l.transactor}, s.def)
	return s
}

func (s *till) start(t *testing.T) (int, error) {
	t.Helper()
	return flow.Start(t.Context(), s.flows, s.def, adasKey, 1)
}

// want compares the ledger, and the records of steps that are left.
func (s *till) want(t *testing.T, sum, rows, steps int) {
	t.Helper()
	gotSum, gotRows, err := s.sum(t.Context())
	if err != nil || gotSum != sum || gotRows != rows {
		t.Errorf("the ledger has the sum %d in %d rows, %v, want %d in %d", gotSum, gotRows, err, sum, rows)
	}
	rec, err := s.guard.Lookup(t.Context(), flowKey)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := flow.Steps(t.Context(), s.guard, &rec); err != nil || len(got) != steps {
		t.Errorf("the flow has %d steps, %v, want %d", len(got), err, steps)
	}
}

// TestFinish: the last step commits with the flow's answer, without a record of its own
// (promise 4); every later caller gets that answer.
func TestFinish(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, l ledger) {
		t.Helper()
		s := openTill(t, l, nil)
		for range 2 {
			if got, err := s.start(t); err != nil || got != 2 {
				t.Fatalf("got %d, %v, want the result of the last step", got, err)
			}
		}
		s.want(t, 11, 2, 1)
	})
}

// What the last step does when it fails: for now, it rolls back and runs again; for good, it
// is recorded, and what was done is undone.
func TestFinishFails(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, l ledger) {
		t.Helper()
		s := openTill(t, l, nil)
		ran := 0
		s.last = func(context.Context) error { ran++; return errDown }
		if _, err := s.start(t); !isUnfinished(err) || ran != 1 {
			t.Fatalf("got %v after %d runs, want it unfinished after one", err, ran)
		}
		s.want(t, 1, 1, 1)
		s.last = func(context.Context) error { return nil }
		if got, err := s.start(t); err != nil || got != 2 {
			t.Fatalf("got %d, %v", got, err)
		}
		s.want(t, 11, 2, 2) // by its second attempt, with a record
		s.last = func(context.Context) error { ran++; return semel.MarkFinal(errDown) }
		for range 2 {
			if _, err := flow.Start(t.Context(), s.flows, s.def, numbered(1), 5); !isFailed(err) {
				t.Errorf("got %v, want the flow failed", err)
			}
		}
		if sum, rows, err := s.sum(t.Context()); err != nil || sum != 11 || rows != 4 || ran != 2 {
			t.Errorf("the ledger has the sum %d in %d rows, %v, after %d runs, want the order undone once", sum, rows, err, ran)
		}
	})
}

// A last step that ends the transaction itself may have committed its rows: an operator decides (promise 3).
func TestFinishEndsTheTransaction(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, l ledger) {
		t.Helper()
		parksLast(t, l, l.end).want(t, 1, 1, 2)
	})
}

// A last step that commits and begins again by SQL has committed its rows, which no second attempt repeats (promise 3).
func TestFinishCommitsAndBegins(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, l ledger) {
		t.Helper()
		parksLast(t, l, l.endBegin)
	})
}

// parksLast wants a flow to be parked at its last step, whose work is last, by its first caller and every later one.
func parksLast(t *testing.T, l ledger, last func(context.Context) error) *till {
	t.Helper()
	s := openTill(t, l, nil)
	s.last = last
	for range 2 {
		_, err := s.start(t)
		if p, ok := errors.AsType[*flow.Parked](err); !ok || p.Step != "points" || !errors.Is(err, semel.ErrUnknown) {
			t.Fatalf("got %v, want it parked at the last step", err)
		}
	}
	return s
}

// deaf believes that it renews its claims.
type deaf struct{ semel.Store }

func (deaf) Renew(context.Context, semel.Digest, semel.Fence, time.Duration) error { return nil }

// A holder that lost the flow to another attempt cannot commit its last step (promise 4), and
// that attempt finds what it recorded.
func TestFinishIsFenced(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, l ledger) {
		t.Helper()
		fenced(t, l, adasKey, "begin", "between", 2)
		if !l.oneWriter {
			fenced(t, l, numbered(1), "last", "last", 4)
		}
	})
}

// fenced lets another attempt take the flow over while one is at a place, and waits with it at another.
func fenced(t *testing.T, l ledger, key semel.Key, at, meets string, rows int) {
	t.Helper()
	policy := semel.Options{Policy: semel.Policy{Lease: time.Second, Wait: time.Minute}} // a busy machine renews in time
	late := l
	late.store = deaf{l.store}
	s, other := openTill(t, late, &policy), openTill(t, l, &policy)
	there, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	other.at = func(place string) {
		if place == meets {
			close(there)
			<-end
		}
	}
	s.at = func(place string) {
		if place != at {
			return
		}
		go func() {
			defer close(ended)
			if got, err := flow.Start(t.Context(), other.flows, other.def, key, 1); err != nil || got != 2 {
				t.Errorf("got %d, %v, want the flow taken over and finished", got, err)
			}
		}()
		select {
		case <-there:
		case <-ended: // it failed, and has said so
		}
	}
	_, err := flow.Start(t.Context(), s.flows, s.def, key, 1)
	if open, ok := errors.AsType[*flow.Unfinished](err); !ok || !errors.Is(open.Err, semel.ErrLost) {
		t.Errorf("got %v, want it unfinished, because another attempt has it", err)
	}
	close(end)
	<-ended
	if sum, n, err := l.sum(t.Context()); err != nil || n != rows || sum != 11*rows/2 {
		t.Errorf("the ledger has the sum %d in %d rows, %v, want %d rows", sum, n, err, rows)
	}
}

// A flow that was released by mistake begins anew, and finds the last step done.
func TestFinishAfterARelease(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, l ledger) {
		t.Helper()
		s := openTill(t, l, nil)
		s.last = func(context.Context) error { return errDown }
		if _, err := s.start(t); !isUnfinished(err) {
			t.Fatalf("got %v, want it unfinished", err)
		}
		s.last = func(context.Context) error { return nil }
		s.after = func() { panic("the process ends here") }
		func() {
			defer func() { _ = recover() }()
			_, _ = s.start(t)
		}()
		s.after = func() {}
		if err := settle(t, s.guard, flowKey.Digest(), semel.Settlement{State: semel.StateReleased, Note: "by mistake"}); err != nil {
			t.Fatal(err)
		}
		if got, err := s.start(t); err != nil || got != 2 {
			t.Errorf("got %d, %v, want the result", got, err)
		}
		s.want(t, 11, 2, 2)
	})
}

// A former holder that still runs when the flow was released by mistake, and has ended, does
// not do the last step again (promise 3).
func TestFinishOfAFormerHolder(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, l ledger) {
		t.Helper()
		policy := semel.Options{Policy: semel.Policy{Lease: time.Second}}
		late := l
		late.store = deaf{l.store}
		s, other := openTill(t, late, &policy), openTill(t, l, nil)
		s.at = func(place string) {
			if place != "begin" {
				return
			}
			testserver.Eventually(t, "the lease lapses, and the flow is released", func() bool {
				return settle(t, other.guard, flowKey.Digest(), semel.Settlement{State: semel.StateReleased, Note: "by mistake"}) == nil
			})
			if got, err := other.start(t); err != nil || got != 2 {
				t.Errorf("got %d, %v, want the flow finished", got, err)
			}
		}
		if _, err := s.start(t); !isUnfinished(err) {
			t.Errorf("got %v, want it unfinished", err)
		}
		s.want(t, 11, 2, 1)
	})
}

// Finish ends the flow: with its own result, which has the type of the flow's, and with no step behind it.
func TestFinishIsTheEnd(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, l ledger) {
		t.Helper()
		s := openTill(t, l, nil)
		book := func(ctx context.Context, amount int) (int, error) { return amount, l.add(ctx, amount) }
		mistaken := flow.Define("mistaken", func(r *flow.Run, _ int) (string, error) {
			_, err := flow.Finish(r, "points", 1, book)
			return "", err
		})
		_, err := flow.Start(t.Context(), newFlows(t, s.guard, &flow.Options{Transactor: l.transactor}, mistaken), mistaken, adasKey, 1)
		if !isFailed(err) || !strings.Contains(err.Error(), "with int, and its result is string") {
			t.Errorf("got %v, want a result of another type refused", err)
		}
		for steps, name := range []string{"alone", "behind another step"} {
			def := flow.Define(name, func(r *flow.Run, _ int) (int, error) {
				if steps > 0 {
					if _, err := flow.Tx(r, "order", 1, book); err != nil {
						return 0, err
					}
				}
				if _, err := flow.Finish(r, "points", 2, book); err != nil {
					return 0, err
				}
				_, err := flow.Tx(r, "more", 1, book)
				return 3, err
			})
			for range 2 {
				if got, err := flow.Start(t.Context(), newFlows(t, s.guard, &flow.Options{Transactor: l.transactor}, def), def, adasKey, 1); err != nil || got != 2 {
					t.Errorf("%s: got %d, %v, want the result of Finish", name, got, err)
				}
			}
		}
		if sum, rows, err := l.sum(t.Context()); err != nil || sum != 5 || rows != 3 {
			t.Errorf("the ledger has the sum %d in %d rows, %v, want 5 in 3", sum, rows, err)
		}
	})
}

// answerLost loses the answer of the commit that completes a flow.
type answerLost struct{ semel.Transactor }

type adopted struct {
	semel.Tx

	lost bool
}

func (a answerLost) Transaction(ctx context.Context) (semel.Tx, error) {
	tx, err := a.Transactor.Transaction(ctx)
	return &adopted{Tx: tx}, err
}

func (a *adopted) Adopt(ctx context.Context, d semel.Digest, f semel.Fence) error {
	a.lost = true
	return a.Tx.(interface {
		Adopt(context.Context, semel.Digest, semel.Fence) error
	}).Adopt(ctx, d, f)
}

func (a *adopted) Commit(ctx context.Context, to semel.Settlement) error {
	return errors.Join(a.Tx.Commit(ctx, to), map[bool]error{true: errDown}[a.lost])
}

// A flow whose last commit got no answer has happened once, and the next attempt hears of it (promises 2 and 4).
func TestFinishLosesTheAnswer(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, l ledger) {
		t.Helper()
		l.transactor = answerLost{l.transactor}
		s := openTill(t, l, nil)
		if _, err := s.start(t); !isUnfinished(err) {
			t.Errorf("got %v, want it unfinished", err)
		}
		if got, err := s.start(t); err != nil || got != 2 {
			t.Errorf("got %d, %v, want the result", got, err)
		}
		s.want(t, 11, 2, 1)
	})
}
