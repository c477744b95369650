package flow_test

import (
	"context"
	"errors"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/flow"
)

// broken is an error whose own method panics.
type broken struct{}

func (broken) Error() string { panic("a bug") }

// returning makes a panic an error that does so later, when it is read.
func returning(fail func()) (err error) {
	defer func() {
		if recover() != nil {
			err = broken{}
		}
	}()
	fail()
	return nil
}

// A panic reaches the caller of Start, as one of Do does, after the flow was left open (rule of package semel): the next
// attempt goes on behind the steps that ended. A Call that panicked may have happened, a Tx was rolled back.
func TestPanicReachesTheCaller(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		step   func(s *shop, r *flow.Run, in order, fail func()) error
		parked bool
	}{
		"in the function": {step: func(_ *shop, _ *flow.Run, _ order, fail func()) error { fail(); return nil }},
		"in a Call's error": {parked: true, step: func(s *shop, r *flow.Run, in order, fail func()) error {
			_, err := flow.Call(r, "take stock", in, func(context.Context, order) (int64, error) { return 1, returning(fail) })
			return err
		}},
		"in a Tx step": {step: func(s *shop, r *flow.Run, in order, fail func()) error {
			_, err := flow.Tx(r, "take stock", in, func(ctx context.Context, in order) (int64, error) {
				n, err := s.insert("stock", -1)(ctx, in)
				fail()
				return n, err
			})
			return err
		}},
		"in a Call": {parked: true, step: func(s *shop, r *flow.Run, in order, fail func()) error {
			_, err := flow.Call(r, "take stock", in, func(context.Context, order) (int64, error) { fail(); return 1, nil })
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *shop
			bug := true
			s = openShop(t, shopOptions{body: func(r *flow.Run, in order) (receipt, error) {
				if _, err := flow.Tx(r, "insert order", in, s.insert("orders", 1)); err != nil {
					return receipt{}, err
				}
				return receipt{Order: 1}, tt.step(s, r, in, func() {
					if bug {
						panic("a bug")
					}
				})
			}})
			func() {
				defer func() {
					if cause := recover(); cause != "a bug" {
						t.Errorf("got %v, want the panic", cause)
					}
				}()
				_, err := s.start(t)
				t.Errorf("it returned %v", err)
			}()
			bug = false
			got, err := s.start(t)
			if _, parked := errors.AsType[*flow.Parked](err); parked != tt.parked || parked != errors.Is(err, semel.ErrUnknown) || !parked && got.Order != 1 {
				t.Errorf("the next attempt: %v, %v, want it parked: %v", got, err, tt.parked)
			}
			if b := s.books(t); b.orders != 1 || b.stock < -1 {
				t.Errorf("%+v, want one order", b)
			}
		})
	}
}

// An error of the function that panics when it is read ends the claim of the flow as well.
func TestErrorThatPanics(t *testing.T) {
	t.Parallel()
	var failure error = broken{}
	s := openShop(t, shopOptions{body: func(*flow.Run, order) (receipt, error) { return receipt{Order: 1}, failure }})
	func() {
		defer func() {
			if cause := recover(); cause != "a bug" {
				t.Errorf("got %v, want the panic", cause)
			}
		}()
		_, err := s.start(t)
		t.Errorf("it returned %T", err)
	}()
	failure = nil
	if got, err := s.start(t); err != nil || got.Order != 1 {
		t.Errorf("the next attempt: %v, %v", got, err)
	}
}
