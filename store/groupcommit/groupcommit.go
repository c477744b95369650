package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/semel-dev/semel"
)

// Defaults of [Options].
const (
	defaultMaxBatch = 64
	defaultInFlight = 2
	defaultMaxQueue = 1024
	defaultTimeout  = 2 * time.Second
)

// sharedOutcome is the longest outcome that shares a batch, in bytes. A
// longer one gets no cheaper in a batch, and would have to be copied.
const sharedOutcome = 64 << 10

// Options are the settings of a [Store]. A nil *Options is complete.
type Options struct {
	// MaxBatch is the most steps of one batch. Default 64.
	MaxBatch int
	// InFlight limits the calls that run at a time, batches and single ones
	// together; next to a batch only one that is as large.
	// Default 2.
	InFlight int
	// MaxDelay lets a step wait for company, at most so long, although it could
	// leave. Default 0: it leaves as soon as it can.
	MaxDelay time.Duration
	// MaxQueue bounds the steps of each verb that wait to leave; further callers
	// wait for a place within their context. Default 1024.
	MaxQueue int
	// Timeout bounds a batch; its steps are then repeated one by one. It is
	// also how long Close waits for what is under way. Default 2 s.
	Timeout time.Duration
}

func (o *Options) withDefaults() Options {
	var opts Options
	if o != nil {
		opts = *o
	}
	opts.MaxBatch = positive(opts.MaxBatch, defaultMaxBatch)
	opts.InFlight = positive(opts.InFlight, defaultInFlight)
	opts.MaxQueue = positive(opts.MaxQueue, defaultMaxQueue)
	opts.Timeout = positive(opts.Timeout, defaultTimeout)
	return opts
}

func positive[T int | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

// Store is a [semel.Store] whose callers share batches. It is safe for
// concurrent use. [New] is the only way to make one. Optional interfaces of the
// store below are found by [semel.StoreAs].
type Store struct {
	inner   semel.Store
	timeout time.Duration
	stream  *stream
	end     context.CancelFunc
	closing sync.Once
}

var _ semel.Store = (*Store)(nil)

// New wraps the store, which it closes from now on. It must be a
// [semel.Batcher], or wrap one.
func New(store semel.Store, o *Options) (*Store, error) {
	if store == nil {
		return nil, errors.New("groupcommit: new: store is nil")
	}
	batcher, ok := semel.StoreAs[semel.Batcher](store)
	if !ok {
		return nil, fmt.Errorf("groupcommit: new: %T cannot take many steps in one commit (it is not a semel.Batcher): use it as it is", store)
	}
	opts := o.withDefaults()
	life, end := context.WithCancel(context.Background())
	return &Store{
		inner:   store,
		timeout: opts.Timeout,
		stream:  newStream(life, opts, batcher),
		end:     end,
	}, nil
}

// Unwrap returns the store below.
func (s *Store) Unwrap() semel.Store { return s.inner }

// Claim implements [semel.Store].
func (s *Store) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	if err := p.Validate(); err != nil {
		return semel.Record{}, false, err
	}
	st := s.stream.step(p.Digest, claims)
	st.claim = p
	alone, err := s.stream.enter(ctx, st)
	switch {
	case err != nil:
		return semel.Record{}, false, fmt.Errorf("groupcommit: claim: %w", err)
	case !alone:
		a := st.answer
		s.stream.recycle(st)
		return a.Record, a.Won, a.Err
	}
	defer s.stream.leave(st) //nolint:contextcheck // a batch has a context of its own.
	rec, won, err := s.inner.Claim(ctx, p)
	return rec, won, st.undecided(err)
}

// Settle implements [semel.Store].
func (s *Store) Settle(ctx context.Context, d semel.Digest, f semel.Fence, to semel.Settlement) error {
	if err := to.Validate(); err != nil {
		return err
	}
	st := s.stream.step(d, settles)
	st.settle = semel.SettleParams{Digest: d, Fence: f, Settlement: to}
	st.alone = len(to.Outcome) > sharedOutcome
	// The caller may use its memory again as soon as Settle has returned, and
	// it may return before the batch has left.
	st.settle.Settlement.Outcome = nil
	if !st.alone {
		st.outcome = append(st.outcome[:0], to.Outcome...)
		st.settle.Settlement.Outcome = st.outcome
	}
	alone, err := s.stream.enter(ctx, st)
	switch {
	case err != nil:
		return fmt.Errorf("groupcommit: settle: %w", err)
	case !alone:
		err := st.answer.Err
		s.stream.recycle(st)
		return err
	}
	defer s.stream.leave(st) //nolint:contextcheck // a batch has a context of its own.
	return st.undecided(s.inner.Settle(ctx, d, f, to))
}

// Renew implements [semel.Store], by the store below.
func (s *Store) Renew(ctx context.Context, d semel.Digest, f semel.Fence, lease time.Duration) error {
	return s.inner.Renew(ctx, d, f, lease)
}

// Lookup implements [semel.Store], by the store below.
func (s *Store) Lookup(ctx context.Context, d semel.Digest) (semel.Record, error) {
	return s.inner.Lookup(ctx, d)
}

// Close refuses new claims and settlements with [semel.ErrClosed], waits for
// those that wait or are under way within [Options.Timeout], gives up the rest,
// and closes the store below. A second Close returns nil.
func (s *Store) Close() (err error) {
	s.closing.Do(func() {
		s.stream.close()
		patience, cancel := context.WithTimeout(context.Background(), s.timeout)
		defer cancel()
		s.stream.drain(patience)
		s.end()
		s.stream.giveUpAll()
		err = s.inner.Close()
		s.stream.batches.Wait()
	})
	return err
}
