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
	under   int            // calls under way
	most    int            // the most of them
	holding map[string]int // steps under way, by verb and digest
	twice   []string       // what was under way twice at a time
}

// call is one call of a verb, or a batch of both.
type call struct {
	batch           bool
	claims, settles []semel.Digest
}

// has reports whether the call has steps of the verb.
func (c call) has(verb string) bool {
	return verb == "claim" && len(c.claims) > 0 || verb == "settle" && len(c.settles) > 0
}

// steps names what the call does.
func (c call) steps() (names []string) {
	for _, d := range c.claims {
		names = append(names, fmt.Sprintf("claim %.8s", d))
	}
	for _, d := range c.settles {
		names = append(names, fmt.Sprintf("settle %.8s", d))
	}
	return names
}

func newBatcher(store semel.Store) *batcher {
	return &batcher{Store: store, holding: map[string]int{}}
}

// memory is a batcher over a store in memory.
func memory() *batcher { return newBatcher(memstore.New(nil)) }

func (b *batcher) Unwrap() semel.Store { return b.Store }

func (b *batcher) enter(c call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, c)
	b.under++
	b.most = max(b.most, b.under)
	for _, step := range c.steps() {
		if b.holding[step]++; b.holding[step] > 1 {
			b.twice = append(b.twice, step)
		}
	}
}

func (b *batcher) leave(c call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.under--
	for _, step := range c.steps() {
		b.holding[step]--
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
	if b.poison != (semel.Digest{}) && slices.Contains(slices.Concat(c.claims, c.settles), b.poison) {
		return errPoison
	}
	err := take()
	if err == nil && b.after != nil {
		err = b.after(ctx, c)
	}
	return err
}

func (b *batcher) Claim(ctx context.Context, p semel.ClaimParams) (rec semel.Record, won bool, err error) {
	err = b.do(ctx, call{claims: []semel.Digest{p.Digest}}, func() (err error) {
		rec, won, err = b.Store.Claim(ctx, p)
		return err
	})
	if err != nil {
		return semel.Record{}, false, err
	}
	return rec, won, nil
}

func (b *batcher) Settle(ctx context.Context, d semel.Digest, f semel.Fence, s semel.Settlement) error {
	return b.do(ctx, call{settles: []semel.Digest{d}}, func() error {
		return b.Store.Settle(ctx, d, f, s)
	})
}

func (b *batcher) Batch(
	ctx context.Context, ps []semel.ClaimParams, ss []semel.SettleParams,
) (won []semel.ClaimAnswer, settled []error, err error) {
	c := call{batch: true}
	for i := range ps {
		c.claims = append(c.claims, ps[i].Digest)
	}
	for i := range ss {
		c.settles = append(c.settles, ss[i].Digest)
	}
	err = b.do(ctx, c, func() error {
		for i := range ps {
			var a semel.ClaimAnswer
			a.Record, a.Won, a.Err = b.Store.Claim(ctx, ps[i])
			won = append(won, a)
		}
		for _, s := range ss {
			settled = append(settled, b.Store.Settle(ctx, s.Digest, s.Fence, s.Settlement))
		}
		return nil
	})
	return won, settled, err
}

// count says how many calls had steps of the verb, and how many of them were batches.
func (b *batcher) count(verb string) (calls, batches int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.calls {
		if c.has(verb) {
			calls++
			if c.batch {
				batches++
			}
		}
	}
	return calls, batches
}

// mixed says how many batches had steps of both verbs.
func (b *batcher) mixed() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.calls {
		if c.has("claim") && c.has("settle") {
			n++
		}
	}
	return n
}

// check fails when more was under way than may be, or one digest twice.
func (b *batcher) check(tb testing.TB, inFlight int) {
	tb.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.twice) > 0 {
		tb.Errorf("under way twice at a time: %v", b.twice)
	}
	if b.most > inFlight {
		tb.Errorf("%d calls were under way at a time, want at most %d", b.most, inFlight)
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
