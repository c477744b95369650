package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/waiting"
)

// ErrInjected is wrapped by every failure that a [Faulty] store makes up. It
// wraps none of semel's sentinels: whether the step was taken is unknown.
var ErrInjected = errors.New("storetest: injected failure")

// Call is one call of a verb: claim, renew, settle, lookup, list, sweep or count.
type Call struct {
	Verb   string
	N      int          // counts the calls of this verb, from 1
	Digest semel.Digest // zero for list, sweep and count
	// Err is the inner store's answer; nil before it was asked.
	Err error
}

// Faults decides which calls fail. The zero value lets everything through. A
// call is first delayed, and then fails as the first field here says.
type Faults struct {
	// Before is asked before the inner store; an error fails the call with it.
	// It may block to delay the call.
	Before func(Call) error
	// After is asked when the inner store has answered; an error replaces that
	// answer. It may block to delay the reply.
	After func(Call) error
	// FailBefore, FailAfter and Delay are the probabilities, 0 to 1, that a
	// call fails before or after the inner store takes the step, or waits. The
	// same Seed gives the same failures to the same sequence of calls.
	FailBefore float64
	FailAfter  float64
	Delay      float64
	// MaxDelay bounds delays. 0 means a millisecond.
	MaxDelay time.Duration
	Seed     uint64
}

// Faulty is a [semel.Store] with failures between it and its callers: a step
// that was never taken, a step that was taken but whose reply was lost, a step
// that takes long, a store that cannot be reached. The second one matters most:
// a caller that reads an error as "it did not happen" loses a settlement, or
// keeps a claim that it does not know of. Every verb is safe to repeat, which
// is the right answer to all of them. It is safe for concurrent use; [Break] is
// the only way to make one.
//
// It is a [semel.Lister] and a [semel.Counter] even where the inner store is
// not: the call then returns an error that wraps [errors.ErrUnsupported]. It is
// also a [semel.Sweeper], which sweeps nothing where the inner store cannot.
// Other optional interfaces of the inner store are hidden, as their calls would
// not fail.
type Faulty struct {
	around

	faults Faults

	mu          sync.Mutex // guards the fields below
	random      *rand.Rand
	calls       map[string]int
	failed      int
	partitioned bool
}

var (
	_ semel.Store   = (*Faulty)(nil)
	_ semel.Lister  = (*Faulty)(nil)
	_ semel.Sweeper = (*Faulty)(nil)
	_ semel.Counter = (*Faulty)(nil)
)

// Break puts faults between the store and its callers.
func Break(inner semel.Store, f Faults) *Faulty {
	if f.MaxDelay <= 0 {
		f.MaxDelay = time.Millisecond
	}
	s := &Faulty{
		faults: f,
		random: rand.New(rand.NewPCG(f.Seed, 0)), //nolint:gosec // failures are to be repeatable, not secret.
		calls:  map[string]int{},
	}
	s.around = around{inner, s.ask}
	return s
}

// Partition lets every call fail before it reaches the inner store, until
// [Faulty.Heal].
func (s *Faulty) Partition() { s.setPartitioned(true) }

// Heal ends a [Faulty.Partition].
func (s *Faulty) Heal() { s.setPartitioned(false) }

func (s *Faulty) setPartitioned(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.partitioned = on
}

// Calls returns how often the verb was called.
func (s *Faulty) Calls(verb string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[verb]
}

// Failed returns how many calls failed as planned.
func (s *Faulty) Failed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// ask asks the inner store, unless the call is to fail before.
func (s *Faulty) ask(ctx context.Context, verb string, d semel.Digest, ask func() error) error {
	before, after, delay, call := s.draw(verb, d)
	if delay > 0 && !waiting.Sleep(ctx, delay) {
		return fmt.Errorf("storetest: %s delayed: %w", verb, ctx.Err())
	}
	if s.faults.Before != nil {
		if err := s.faults.Before(call); err != nil {
			return s.fail(err)
		}
	}
	if before {
		return s.fail(fmt.Errorf("%w: %s %d before it was taken", ErrInjected, verb, call.N))
	}
	call.Err = ask()
	if s.faults.After != nil {
		if err := s.faults.After(call); err != nil {
			return s.fail(err)
		}
	}
	if after {
		return s.fail(fmt.Errorf("%w: %s %d after it was taken", ErrInjected, verb, call.N))
	}
	return call.Err
}

func (s *Faulty) fail(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed++
	return err
}

// draw counts the call and decides whether it fails.
func (s *Faulty) draw(verb string, d semel.Digest) (before, after bool, delay time.Duration, call Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[verb]++
	// Always four draws, so that one call's failures do not depend on the faults of others.
	b, a, waits, share := s.random.Float64(), s.random.Float64(), s.random.Float64(), s.random.Float64()
	if waits < s.faults.Delay {
		delay = time.Duration(share * float64(s.faults.MaxDelay))
	}
	return s.partitioned || b < s.faults.FailBefore, a < s.faults.FailAfter, delay, Call{Verb: verb, N: s.calls[verb], Digest: d}
}

// asked is call for a verb with an answer, which is lost with an error.
func asked[T any](ctx context.Context, call caller, verb string, d semel.Digest, ask func() (T, error)) (answer T, err error) {
	if err = call(ctx, verb, d, func() (err error) { answer, err = ask(); return err }); err != nil {
		answer = *new(T)
	}
	return answer, err
}

// caller makes a call of a verb by asking the store, or not.
type caller func(ctx context.Context, verb string, d semel.Digest, ask func() error) error

// around is a store of which every verb goes through call.
type around struct {
	inner semel.Store
	call  caller
}

// Claim implements [semel.Store].
func (s *around) Claim(ctx context.Context, p semel.ClaimParams) (rec semel.Record, won bool, err error) {
	rec, err = asked(ctx, s.call, "claim", p.Digest, func() (semel.Record, error) {
		rec, won, err = s.inner.Claim(ctx, p)
		return rec, err
	})
	return rec, won && err == nil, err
}

// Renew implements [semel.Store].
func (s *around) Renew(ctx context.Context, d semel.Digest, f semel.Fence, lease time.Duration) error {
	return s.call(ctx, "renew", d, func() error { return s.inner.Renew(ctx, d, f, lease) })
}

// Settle implements [semel.Store].
func (s *around) Settle(ctx context.Context, d semel.Digest, f semel.Fence, to semel.Settlement) error {
	return s.call(ctx, "settle", d, func() error { return s.inner.Settle(ctx, d, f, to) })
}

// Lookup implements [semel.Store].
func (s *around) Lookup(ctx context.Context, d semel.Digest) (semel.Record, error) {
	return asked(ctx, s.call, "lookup", d, func() (semel.Record, error) { return s.inner.Lookup(ctx, d) })
}

// Close closes the inner store.
func (s *around) Close() error { return s.inner.Close() }

// List implements [semel.Lister].
func (s *Faulty) List(ctx context.Context, p semel.ListParams) (semel.ListPage, error) {
	lister, ok := s.inner.(semel.Lister)
	if !ok {
		return semel.ListPage{}, fmt.Errorf("storetest: the inner store is not a semel.Lister: %w", errors.ErrUnsupported)
	}
	return asked(ctx, s.call, "list", semel.Digest{}, func() (semel.ListPage, error) { return lister.List(ctx, p) })
}

// Sweep implements [semel.Sweeper].
func (s *Faulty) Sweep(ctx context.Context, limit int) (removed int, err error) {
	sweeper, ok := s.inner.(semel.Sweeper)
	if !ok {
		return 0, nil
	}
	return asked(ctx, s.call, "sweep", semel.Digest{}, func() (int, error) { return sweeper.Sweep(ctx, limit) })
}

// Count implements [semel.Counter].
func (s *Faulty) Count(ctx context.Context) (int64, error) {
	counter, ok := s.inner.(semel.Counter)
	if !ok {
		return 0, fmt.Errorf("storetest: the inner store is not a semel.Counter: %w", errors.ErrUnsupported)
	}
	return asked(ctx, s.call, "count", semel.Digest{}, func() (int64, error) { return counter.Count(ctx) })
}
