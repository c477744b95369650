package storefault

import (
	"context"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
)

// fate is what the plan holds for one call.
type fate struct {
	delays []Fault
	before error
	after  error
}

// call asks the inner store as the plan says.
func (s *Store) call(ctx context.Context, v Verb, d semel.Digest, ask func() error) error {
	op := Op{Verb: v, Digest: d}
	f := s.draw(&op)
	for i := range f.delays {
		if err := f.delays[i].wait(ctx); err != nil {
			return fmt.Errorf("storefault: %s delayed: %w", v, err)
		}
	}
	if s.plan.Before != nil {
		if err := s.plan.Before(op); err != nil {
			return s.fail(err)
		}
	}
	if f.before != nil {
		return s.fail(f.before)
	}
	op.Err = ask()
	if s.plan.After != nil {
		if err := s.plan.After(op); err != nil {
			return s.fail(err)
		}
	}
	if f.after != nil {
		return s.fail(f.after)
	}
	return op.Err
}

func (s *Store) fail(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed++
	return err
}

// draw counts the call and decides its fate.
func (s *Store) draw(op *Op) fate {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[op.Verb]++
	op.N = s.calls[op.Verb]
	var f fate
	if s.partitioned {
		f.before = fmt.Errorf("%w: %s %d: partitioned", ErrInjected, op.Verb, op.N)
	}
	for _, fault := range s.plan.Faults {
		if (fault.Verb == "" || fault.Verb == op.Verb) && (fault.N == 0 || fault.N == op.N) {
			f.add(fault, op)
		}
	}
	// Always four draws, so that one call's fate does not hang on another's plan.
	before, after, delay, share := s.random.Float64(), s.random.Float64(), s.random.Float64(), s.random.Float64()
	if before < s.plan.FailBefore {
		f.add(Fault{Kind: FailBefore}, op)
	}
	if after < s.plan.FailAfter {
		f.add(Fault{Kind: FailAfter}, op)
	}
	if delay < s.plan.Delay {
		f.add(Fault{Kind: Delay, For: time.Duration(share * float64(s.plan.MaxDelay))}, op)
	}
	return f
}

func (f *fate) add(fault Fault, op *Op) {
	err := fault.Err
	switch fault.Kind {
	case Delay:
		f.delays = append(f.delays, fault)
	case FailBefore:
		if err == nil {
			err = fmt.Errorf("%w: %s %d before it was taken", ErrInjected, op.Verb, op.N)
		}
		if f.before == nil {
			f.before = err
		}
	case FailAfter:
		if err == nil {
			err = fmt.Errorf("%w: %s %d after it was taken", ErrInjected, op.Verb, op.N)
		}
		if f.after == nil {
			f.after = err
		}
	}
}

// wait returns when the delay is over, or with the context's error.
func (f *Fault) wait(ctx context.Context) error {
	until := f.Until
	if until == nil {
		timer := time.NewTimer(f.For)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	select {
	case <-until:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
