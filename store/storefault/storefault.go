package storefault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/semel-dev/semel"
)

// ErrInjected is wrapped by every failure that this package makes up. It wraps
// none of semel's sentinels, so it says nothing about whether the step was taken.
var ErrInjected = errors.New("storefault: injected failure")

// Verb names a verb of a store.
type Verb string

// The verbs that can fail. Close always reaches the inner store.
const (
	Claim  Verb = "claim"
	Renew  Verb = "renew"
	Settle Verb = "settle"
	Lookup Verb = "lookup"
	List   Verb = "list"
	Sweep  Verb = "sweep"
	Count  Verb = "count"
)

// Op is one call of a verb.
type Op struct {
	Verb   Verb
	N      int          // the how-manieth call of this verb, from 1
	Digest semel.Digest // zero for List, Sweep and Count
	// Err is what the inner store answered; nil before it was asked.
	Err error
}

// Kind is how a call fails.
type Kind uint8

// The kinds of failure.
const (
	// FailBefore: the inner store is not asked; the call fails.
	FailBefore Kind = iota + 1
	// FailAfter: the inner store takes the step, then the call fails.
	FailAfter
	// Delay: the call waits before the inner store is asked.
	Delay
)

// Fault is one planned failure.
type Fault struct {
	Verb Verb // empty: every verb, each counted by itself
	N    int  // only the N-th call, from 1; 0: every call
	Kind Kind
	// Err is what a failing call returns. nil means ErrInjected.
	Err error
	// Until ends a Delay when it is closed or received from. Where it is nil,
	// the delay lasts for For.
	Until <-chan struct{}
	For   time.Duration
}

// Plan says which calls fail. The zero Plan lets everything through. Where
// several parts match a call, it is first delayed by all of them, then fails as
// the first one says, in the order of the fields here.
type Plan struct {
	// Before is asked before the inner store; an error fails the call with it.
	// It may block to delay the call.
	Before func(Op) error
	// After is asked when the inner store has answered; an error replaces
	// whatever it answered. It may block to delay the reply.
	After func(Op) error
	// Faults are planned by verb and number.
	Faults []Fault
	// FailBefore, FailAfter and Delay are probabilities, 0 to 1, by which
	// every call fails besides. The same Seed gives the same failures to the
	// same sequence of calls.
	FailBefore float64
	FailAfter  float64
	Delay      float64
	// MaxDelay bounds delays by probability. 0 means a millisecond.
	MaxDelay time.Duration
	Seed     uint64
}

// Store is a [semel.Store] that fails as planned. It is safe for concurrent
// use. [Wrap] is the only way to make one.
//
// It is a [semel.Lister] and a [semel.Counter] even where the inner store is
// none: the call then returns an error that wraps [errors.ErrUnsupported]. And
// it is a [semel.Sweeper]: where the inner store is none, nothing is swept.
// Other optional interfaces of the inner store do not show through, as their
// calls would not fail.
type Store struct {
	inner semel.Store
	plan  Plan

	mu          sync.Mutex // guards the fields below
	random      *rand.Rand
	calls       map[Verb]int
	failed      int
	partitioned bool
}

var (
	_ semel.Store   = (*Store)(nil)
	_ semel.Lister  = (*Store)(nil)
	_ semel.Sweeper = (*Store)(nil)
	_ semel.Counter = (*Store)(nil)
)

// Wrap puts the plan between the store and its users.
func Wrap(inner semel.Store, plan Plan) *Store {
	if plan.MaxDelay <= 0 {
		plan.MaxDelay = time.Millisecond
	}
	return &Store{
		inner:  inner,
		plan:   plan,
		random: rand.New(rand.NewPCG(plan.Seed, 0)), //nolint:gosec // failures are to be repeatable, not secret.
		calls:  map[Verb]int{},
	}
}

// Partition lets every call fail before it reaches the inner store, until [Store.Heal].
func (s *Store) Partition() { s.setPartitioned(true) }

// Heal ends a [Store.Partition].
func (s *Store) Heal() { s.setPartitioned(false) }

func (s *Store) setPartitioned(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.partitioned = on
}

// Calls is how often the verb was called.
func (s *Store) Calls(v Verb) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[v]
}

// Failed is how many calls failed as planned.
func (s *Store) Failed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// Claim implements [semel.Store].
func (s *Store) Claim(ctx context.Context, p semel.ClaimParams) (rec semel.Record, won bool, err error) {
	err = s.call(ctx, Claim, p.Digest, func() (err error) {
		rec, won, err = s.inner.Claim(ctx, p)
		return err
	})
	if err != nil {
		return semel.Record{}, false, err
	}
	return rec, won, nil
}

// Renew implements [semel.Store].
func (s *Store) Renew(ctx context.Context, d semel.Digest, f semel.Fence, lease time.Duration) error {
	return s.call(ctx, Renew, d, func() error { return s.inner.Renew(ctx, d, f, lease) })
}

// Settle implements [semel.Store].
func (s *Store) Settle(ctx context.Context, d semel.Digest, f semel.Fence, to semel.Settlement) error {
	return s.call(ctx, Settle, d, func() error { return s.inner.Settle(ctx, d, f, to) })
}

// Lookup implements [semel.Store].
func (s *Store) Lookup(ctx context.Context, d semel.Digest) (rec semel.Record, err error) {
	err = s.call(ctx, Lookup, d, func() (err error) {
		rec, err = s.inner.Lookup(ctx, d)
		return err
	})
	if err != nil {
		return semel.Record{}, err
	}
	return rec, nil
}

// Close closes the inner store.
func (s *Store) Close() error { return s.inner.Close() }

// List implements [semel.Lister].
func (s *Store) List(ctx context.Context, p semel.ListParams) (recs []semel.Record, err error) {
	lister, ok := s.inner.(semel.Lister)
	if !ok {
		return nil, fmt.Errorf("storefault: the inner store is no semel.Lister: %w", errors.ErrUnsupported)
	}
	err = s.call(ctx, List, semel.Digest{}, func() (err error) {
		recs, err = lister.List(ctx, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	return recs, nil
}

// Sweep implements [semel.Sweeper].
func (s *Store) Sweep(ctx context.Context, limit int) (removed int, err error) {
	sweeper, ok := s.inner.(semel.Sweeper)
	if !ok {
		return 0, nil
	}
	err = s.call(ctx, Sweep, semel.Digest{}, func() (err error) {
		removed, err = sweeper.Sweep(ctx, limit)
		return err
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// Count implements [semel.Counter].
func (s *Store) Count(ctx context.Context) (n int64, err error) {
	counter, ok := s.inner.(semel.Counter)
	if !ok {
		return 0, fmt.Errorf("storefault: the inner store is no semel.Counter: %w", errors.ErrUnsupported)
	}
	err = s.call(ctx, Count, semel.Digest{}, func() (err error) {
		n, err = counter.Count(ctx)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}
