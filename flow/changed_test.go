package flow_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
)

// A process that cannot run a step ends the flow for all.
func TestOnNotReady(t *testing.T) {
	t.Parallel()
	other := openShop(t, shopOptions{})
	rotating, err := semel.New(other.store, &semel.Options{Secrets: [][]byte{nil, []byte("0123456789abcdef-new")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rotating.Close() })
	var s *shop
	guard := other.guard
	s = openShop(t, shopOptions{body: func(r *flow.Run, in order) (receipt, error) {
		if _, err := flow.Tx(r, "take stock", in, other.insert("stock", -1), flow.On(guard, other.store.Transactor()), flow.Undo(other.reverse("stock"))); err != nil {
			return receipt{}, err
		}
		return receipt{}, errDown
	}})
	_, err = s.start(t)
	t.Log(err)
	guard = rotating // this process, or the next release: step 2 of docs/operations.md for the other database
	_, err = s.start(t)
	t.Log(err)
	if isFailed(err) && other.books(t).stock != 0 {
		t.Errorf("%v for all, and the stock is %d", err, other.books(t).stock)
	}
}

// A step that moves to another database must be a mismatch.
func TestOnChanged(t *testing.T) {
	t.Parallel()
	other := openShop(t, shopOptions{})
	var s *shop
	moved := false
	s = openShop(t, shopOptions{body: func(r *flow.Run, in order) (receipt, error) {
		if !moved {
			if _, err := flow.Tx(r, "take stock", in, s.insert("stock", -1)); err != nil {
				return receipt{}, err
			}
			return receipt{}, errDown
		}
		_, err := flow.Tx(r, "take stock", in, other.insert("stock", -1), flow.On(other.guard, other.store.Transactor()))
		return receipt{}, err
	}})
	_, err := s.start(t)
	t.Log(err)
	moved = true
	_, err = s.start(t)
	if n := s.books(t).stock + other.books(t).stock; n != -1 {
		t.Errorf("the stock is %d, %v: a step that another release asks for elsewhere ran twice", n, err)
	}
}

// A step that moves from one other database to another is refused, and goes on where it began.
func TestOnMoved(t *testing.T) {
	t.Parallel()
	first, second := openShop(t, shopOptions{}), openShop(t, shopOptions{})
	in, fails := first, errDown
	s := openShop(t, shopOptions{body: func(r *flow.Run, o order) (receipt, error) {
		if _, err := flow.Tx(r, "take stock", o, in.insert("stock", -1), flow.On(in.guard, in.store.Transactor()), flow.Undo(in.reverse("stock"))); err != nil {
			return receipt{}, err
		}
		return receipt{}, fails
	}})
	if _, err := s.start(t); !isUnfinished(err) {
		t.Fatal(err)
	}
	in = second
	for range 2 {
		_, err := s.start(t)
		if _, parked := errors.AsType[*flow.Parked](err); !parked || !errors.Is(err, semel.ErrMismatch) {
			t.Errorf("got %v, want it parked as changed", err)
		}
	}
	if a, b := first.books(t).stock, second.books(t).stock; a != -1 || b != 0 {
		t.Errorf("the stock is %d and %d, want -1 and 0", a, b)
	}
	in, fails = first, nil
	if _, err := s.start(t); err != nil || first.books(t).stock != -1 {
		t.Errorf("got %v and stock %d from the release before", err, first.books(t).stock)
	}
}

// unnamed removes the name of the database from markers, as they were before they had one.
type unnamed struct{ semel.Store }

func (u unnamed) Settle(ctx context.Context, d semel.Digest, f semel.Fence, s semel.Settlement) error {
	if before, _, found := bytes.Cut(s.Outcome, []byte(`,"place":"`)); found {
		s.Outcome = append(bytes.Clone(before), "}}"...)
	}
	return u.Store.Settle(ctx, d, f, s)
}

// A flow whose marker does not name the database goes on.
func TestOnWithoutAName(t *testing.T) {
	t.Parallel()
	other := openShop(t, shopOptions{})
	fails := errDown
	s := openShop(t, shopOptions{wrap: func(s semel.Store) semel.Store { return unnamed{s} }, body: func(r *flow.Run, o order) (receipt, error) {
		_, err := flow.Tx(r, "take stock", o, func(ctx context.Context, o order) (int64, error) {
			n, err := other.insert("stock", -1)(ctx, o)
			return n, errors.Join(err, fails)
		}, flow.On(other.guard, other.store.Transactor()))
		return receipt{}, err
	}})
	if _, err := s.start(t); !isUnfinished(err) {
		t.Fatal(err)
	}
	fails = nil
	for range 2 {
		if _, err := s.start(t); err != nil || other.books(t).stock != -1 {
			t.Errorf("got %v and stock %d", err, other.books(t).stock)
		}
	}
}

// MaxAge is raised while flows are open.
func TestMaxAgeRaised(t *testing.T) {
	t.Parallel()
	g, _, clock := inMemory(t, semel.Options{}, nil)
	orders := 0
	def := flow.Define("buy", func(r *flow.Run, _ int) (string, error) {
		if _, err := flow.Call(r, "order", 1, func(context.Context, int) (int, error) { orders++; return 1, nil },
			flow.Undo(func(context.Context, int) error { return semel.MarkReleased(errDown) })); err != nil {
			return "", err
		}
		return "", errDown
	})
	f := newFlows(t, g, nil, def)
	_, err := flow.Start(t.Context(), f, def, adasKey, 1)
	t.Log(err)
	clock.Advance(100 * time.Hour)
	_, err = flow.Start(t.Context(), f, def, adasKey, 1)
	t.Log(err)
	clock.Advance(100 * time.Hour)
	f = newFlows(t, g, &flow.Options{MaxAge: 240 * time.Hour}, def)
	_, err = flow.Start(t.Context(), f, def, adasKey, 1)
	if orders != 1 {
		t.Errorf("%d orders: %v", orders, err)
	}
}

// A process without the transactor ends flows for all.
func TestNoTransactor(t *testing.T) {
	t.Parallel()
	s := openShop(t, shopOptions{})
	s.points = func() error { return errDown }
	charged := s.charged
	_ = charged
	s2body := s.order
	_, err := s.start(t)
	t.Log(err, s.books(t))
	f2, err := flow.New(s.guard, nil, s2body) // a worker that was configured without it
	if err != nil {
		t.Fatal(err)
	}
	_, err = flow.Start(t.Context(), f2, s2body, adasKey, ada)
	t.Log("old flow:", err)
	_, err = flow.Start(t.Context(), f2, s2body, numbered(7), ada)
	if isFailed(err) {
		t.Errorf("for all, for ever: %v", err)
	}
}
