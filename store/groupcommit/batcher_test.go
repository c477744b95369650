package groupcommit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/groupcommit"
	"github.com/semel-dev/semel/store/memstore"
)

var (
	errBroken = errors.New("connection reset")
	errPoison = errors.New("invalid byte sequence")
	wantGone  = claimtest.WantGone
)

// batcher is a store that takes batches, by taking their steps one by one. It
// watches what it is asked, and can be made to fail.
type batcher struct {
	semel.Store

	before func(context.Context, call) error // a call that fails here takes no step
	after  func(context.Context, call) error // a call that fails here has taken all of them
	poison semel.Digest                      // fails the batch it is in, and its own verb

	mu      sync.Mutex // guards the fields below
	calls   []call
	under   map[string]int                  // calls under way, by verb
	most    map[string]int                  // the most of them
	holding map[string]map[semel.Digest]int // digests under way, by verb
	twice   []string                        // what was under way twice at a time
}

// call is one call of a verb, or of its batch.
type call struct {
	verb    string
	batch   bool
	digests []semel.Digest
}

func newBatcher(store semel.Store) *batcher {
	return &batcher{
		Store: store, under: map[string]int{}, most: map[string]int{},
		holding: map[string]map[semel.Digest]int{"claim": {}, "settle": {}},
	}
}

// memory is a batcher over a store in memory.
func memory() *batcher { return newBatcher(memstore.New(nil)) }

func (b *batcher) Unwrap() semel.Store { return b.Store }

func (b *batcher) enter(c call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, c)
	b.under[c.verb]++
	b.most[c.verb] = max(b.most[c.verb], b.under[c.verb])
	for _, d := range c.digests {
		if b.holding[c.verb][d]++; b.holding[c.verb][d] > 1 {
			b.twice = append(b.twice, fmt.Sprintf("%s %.8s", c.verb, d))
		}
	}
}

func (b *batcher) leave(c call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.under[c.verb]--
	for _, d := range c.digests {
		b.holding[c.verb][d]--
	}
}

// do takes the steps of a call.
func (b *batcher) do(ctx context.Context, c call, take func() error) error {
	b.enter(c)
	defer b.leave(c)
	if b.before != nil {
		if err := b.before(ctx, c); err != nil {
			return err
		}
	}
	if b.poison != (semel.Digest{}) && slices.Contains(c.digests, b.poison) {
		return errPoison
	}
	err := take()
	if err == nil && b.after != nil {
		err = b.after(ctx, c)
	}
	return err
}

func (b *batcher) Claim(ctx context.Context, p semel.ClaimParams) (rec semel.Record, won bool, err error) {
	err = b.do(ctx, call{verb: "claim", digests: []semel.Digest{p.Digest}}, func() (err error) {
		rec, won, err = b.Store.Claim(ctx, p)
		return err
	})
	if err != nil {
		return semel.Record{}, false, err
	}
	return rec, won, nil
}

func (b *batcher) Settle(ctx context.Context, d semel.Digest, f semel.Fence, s semel.Settlement) error {
	return b.do(ctx, call{verb: "settle", digests: []semel.Digest{d}}, func() error {
		return b.Store.Settle(ctx, d, f, s)
	})
}

func (b *batcher) ClaimBatch(ctx context.Context, ps []semel.ClaimParams) (answers []semel.ClaimAnswer, err error) {
	c := call{verb: "claim", batch: true}
	for i := range ps {
		c.digests = append(c.digests, ps[i].Digest)
	}
	err = b.do(ctx, c, func() error {
		for i := range ps {
			var a semel.ClaimAnswer
			a.Record, a.Won, a.Err = b.Store.Claim(ctx, ps[i])
			answers = append(answers, a)
		}
		return nil
	})
	return answers, err
}

func (b *batcher) SettleBatch(ctx context.Context, ss []semel.SettleParams) (answers []error, err error) {
	c := call{verb: "settle", batch: true}
	for i := range ss {
		c.digests = append(c.digests, ss[i].Digest)
	}
	err = b.do(ctx, c, func() error {
		for _, s := range ss {
			answers = append(answers, b.Store.Settle(ctx, s.Digest, s.Fence, s.Settlement))
		}
		return nil
	})
	return answers, err
}

// count says how many calls there were, and how many of them were batches.
func (b *batcher) count(verb string) (calls, batches int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.calls {
		if c.verb == verb {
			calls++
			if c.batch {
				batches++
			}
		}
	}
	return calls, batches
}

// check fails when more was under way than may be, or one digest twice.
func (b *batcher) check(tb testing.TB, inFlight int) {
	tb.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.twice) > 0 {
		tb.Errorf("under way twice at a time: %v", b.twice)
	}
	for verb, n := range b.most {
		if n > inFlight {
			tb.Errorf("%d calls of %s were under way at a time, want at most %d", n, verb, inFlight)
		}
	}
}

// gate holds calls back until it is opened.
type gate struct {
	arrived chan call
	open    chan struct{}
}

func newGate() *gate { return &gate{arrived: make(chan call, 1024), open: make(chan struct{})} }

func (g *gate) pass(ctx context.Context, c call) error {
	g.arrived <- c
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sometimes fails calls for batches with errors, panics and wrong answers.
func sometimes(seed uint64) func(context.Context, call) error {
	var mu sync.Mutex // guards random
	random := rand.New(rand.NewPCG(seed, 0))
	return func(_ context.Context, c call) error {
		mu.Lock()
		draw := random.IntN(6)
		mu.Unlock()
		switch {
		case !c.batch:
		case draw == 0:
			return errBroken
		case draw == 1:
			panic("lost its mind")
		}
		return nil
	}
}

// slow makes calls long enough for others to gather.
func slow(context.Context, call) error {
	for range 20 {
		runtime.Gosched()
	}
	return nil
}

func wrap(tb testing.TB, b semel.Store, o *groupcommit.Options) *groupcommit.Store {
	tb.Helper()
	s, err := groupcommit.New(b, o)
	noError(tb, err)
	closes(tb, s)
	return s
}

var (
	params, completed, wins, settles = claimtest.Params, claimtest.Completed, claimtest.Wins, claimtest.Settles
	noError, closes, wantWords       = claimtest.NoError, claimtest.Closes, claimtest.Words
)

// claims claims from any goroutine, and must win.
func claims(t *testing.T, s semel.Store, p semel.ClaimParams) {
	t.Helper()
	if _, won, err := s.Claim(t.Context(), p); err != nil || !won {
		t.Error(p.Name, won, err)
	}
}
