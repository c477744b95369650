package groupcommit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/groupcommit"
	"github.com/semel-dev/semel/store/memstore"
)

func TestNewNeedsABatcher(t *testing.T) {
	t.Parallel()
	store := memstore.New(nil)
	defer store.Close()
	_, err := groupcommit.New(store, nil)
	wantWords(t, err, "use it as it is")
	if _, err := groupcommit.New(nil, nil); err == nil {
		t.Error("got no error for no store")
	}
	s := wrap(t, session{newBatcher(store)}, nil) // it is found below a wrapper
	if s.Unwrap() == nil {
		t.Error("the store below does not show")
	}
}

// Unwrap implements the convention of semel.StoreAs.
func (s session) Unwrap() semel.Store { return s.Store }

// A lone caller goes to the store's own verb.
func TestLoneCaller(t *testing.T) {
	t.Parallel()
	b := memory()
	s := wrap(t, b, nil)
	for i := range 10 {
		rec := wins(t, s, params(fmt.Sprint(i)))
		settles(t, s, rec, completed("one"))
	}
	for _, verb := range []string{"claim", "settle"} {
		if calls, batches := b.count(verb); calls != 10 || batches != 0 {
			t.Errorf("%s: %d calls, %d of them batches; want 10 and none", verb, calls, batches)
		}
	}
}

// What arrives while calls are under way shares the next one, up to the bound,
// and every caller gets its own answer.
func TestCallersShareBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const callers = 50
		b, g := memory(), newGate()
		b.before = g.pass
		s := wrap(t, b, &groupcommit.Options{MaxBatch: 20, InFlight: 2})
		recs := make([]semel.Record, callers)
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				p := params(fmt.Sprint(i))
				rec, won, err := s.Claim(t.Context(), p)
				if err != nil || !won || rec.Digest != p.Digest || rec.Name != p.Name {
					t.Errorf("caller %d: got %v, %v, %v", i, rec, won, err)
				}
				recs[i] = rec
			})
		}
		synctest.Wait()
		if calls, _ := b.count("claim"); calls != 2 {
			t.Errorf("%d calls are under way, want 2", calls)
		}
		close(g.open)
		wg.Wait()
		// Two alone, then 20, 20 and 8.
		if calls, batches := b.count("claim"); calls != 5 || batches != 3 {
			t.Errorf("%d calls, %d of them batches; want 5 and 3", calls, batches)
		}
		for i := range callers {
			wg.Go(func() {
				if err := s.Settle(t.Context(), recs[i].Digest, recs[i].Fence, completed(fmt.Sprint("answer ", i))); err != nil {
					t.Errorf("caller %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		for i := range callers {
			if rec, err := s.Lookup(t.Context(), recs[i].Digest); err != nil || string(rec.Outcome) != fmt.Sprint("answer ", i) {
				t.Errorf("caller %d: got %q, %v", i, rec.Outcome, err)
			}
		}
		b.check(t, 2)
	})
}

// Next to a batch only one that is as large is under way; next to a lone caller
// another one.
func TestSmallBatchesDoNotCompete(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, alone, together := memory(), newGate(), newGate()
		b.before = func(ctx context.Context, c call) error {
			if c.batch {
				return together.pass(ctx, c)
			}
			return alone.pass(ctx, c)
		}
		s := wrap(t, b, &groupcommit.Options{InFlight: 2, Timeout: time.Minute})
		n := 0
		var wg sync.WaitGroup
		claim := func(callers, wantCalls int) {
			t.Helper()
			for range callers {
				n++
				name := fmt.Sprint(n)
				wg.Go(func() { claims(t, s, params(name)) })
				synctest.Wait()
			}
			synctest.Wait()
			if calls, _ := b.count("claim"); calls != wantCalls {
				t.Errorf("%d calls after %d callers, want %d", calls, n, wantCalls)
			}
		}
		claim(1, 1)
		claim(1, 2) // next to the first
		claim(6, 2)
		alone.open <- struct{}{}
		claim(0, 3) // the six, next to the second
		alone.open <- struct{}{}
		claim(5, 3) // fewer than the six
		claim(1, 4)
		close(alone.open)
		close(together.open)
		wg.Wait()
		b.check(t, 2)
	})
}

// ordered notes the outcomes in the order in which they are settled.
type ordered struct {
	semel.Store

	mu       sync.Mutex // guards the field below
	outcomes []string
}

func (o *ordered) Settle(ctx context.Context, d semel.Digest, f semel.Fence, to semel.Settlement) error {
	o.mu.Lock()
	o.outcomes = append(o.outcomes, string(to.Outcome))
	o.mu.Unlock()
	return o.Store.Settle(ctx, d, f, to)
}

// Steps on one digest take turns in the order in which they arrived.
func TestStepsOnOneDigestTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const callers = 12
		store := &ordered{Store: memstore.New(nil)}
		b, g := newBatcher(store), newGate()
		s := wrap(t, b, &groupcommit.Options{InFlight: 2})
		rec := wins(t, s, params("a"))
		b.before = g.pass
		var want []string
		var wg sync.WaitGroup
		for i := range callers {
			want = append(want, fmt.Sprint(i))
			wg.Go(func() {
				// Unknown may be settled again and again; each time it is another note.
				err := s.Settle(t.Context(), rec.Digest, rec.Fence, semel.Settlement{
					State: semel.StateUnknown, Outcome: fmt.Append(nil, i), Retention: time.Hour,
				})
				if err != nil {
					t.Error(err)
				}
			})
			wg.Go(func() { // and others next to it
				if _, _, err := s.Claim(t.Context(), params(fmt.Sprint(i))); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait() // so that they arrive one after the other
		}
		close(g.open)
		wg.Wait()
		if !slices.Equal(store.outcomes, want) {
			t.Errorf("the steps were taken in the order %v", store.outcomes)
		}
		b.check(t, 2)
	})
}

// MaxDelay lets a step wait for company so long and no longer, and not for more
// company than there is room for.
func TestMaxDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := memory()
		s := wrap(t, b, &groupcommit.Options{MaxDelay: 10 * time.Millisecond, MaxBatch: 4})
		began := time.Now()
		took := make([]time.Duration, 5)
		var wg sync.WaitGroup
		claim := func(i int) {
			wg.Go(func() {
				if _, _, err := s.Claim(t.Context(), params(fmt.Sprint(i))); err != nil {
					t.Error(err)
				}
				took[i] = time.Since(began)
			})
			synctest.Wait()
		}
		claim(0)
		time.Sleep(4 * time.Millisecond)
		for i := 1; i < 5; i++ {
			claim(i) // the fourth makes the batch full
		}
		wg.Wait()
		for i, got := range took {
			want := 4 * time.Millisecond
			if i == 4 {
				want = 14 * time.Millisecond
			}
			if got != want {
				t.Errorf("caller %d: answered after %v, want %v", i, got, want)
			}
		}
	})
}

// Promise 8: what waits is bounded; further callers wait for a place within
// their context.
func TestMaxQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, g := memory(), newGate()
		b.before = g.pass
		s := wrap(t, b, &groupcommit.Options{InFlight: 1, MaxQueue: 3, Timeout: time.Minute})
		var wg sync.WaitGroup
		for i := range 6 { // one under way, three in the queue, two that wait for a place
			wg.Go(func() { claims(t, s, params(fmt.Sprint(i))) })
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, won, err := s.Claim(ctx, params("patient"))
		if won || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "not executed: 3 others wait") {
			t.Errorf("got %v, %v; want the end of the context", won, err)
		}
		close(g.open)
		wg.Wait()
		wantGone(t, s, params("patient").Digest)
		for _, c := range b.calls {
			if len(c.claims) > 3 {
				t.Errorf("%d steps waited at a time, want at most 3", len(c.claims))
			}
		}
	})
}

// An outcome that is large goes alone, and is not copied.
func TestLargeOutcomesTravelAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, g := memory(), newGate()
		s := wrap(t, b, &groupcommit.Options{InFlight: 1})
		var recs []semel.Record
		for i := range 7 {
			rec := wins(t, s, params(fmt.Sprint(i)))
			recs = append(recs, rec)
		}
		b.before = g.pass
		var wg sync.WaitGroup
		for i, rec := range recs {
			outcome := strings.Repeat("x", 100)
			if i == 3 {
				outcome = strings.Repeat("y", 1<<20)
			}
			wg.Go(func() {
				if err := s.Settle(t.Context(), rec.Digest, rec.Fence, completed(outcome)); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		close(g.open)
		wg.Wait()
		// A lone one, two together, the large one, three together.
		if calls, batches := b.count("settle"); calls != 4 || batches != 2 {
			t.Errorf("%d calls, %d of them batches; want 4 and 2", calls, batches)
		}
		if rec, err := s.Lookup(t.Context(), recs[3].Digest); err != nil || len(rec.Outcome) != 1<<20 || rec.Outcome[0] != 'y' {
			t.Errorf("got %d bytes, %v", len(rec.Outcome), err)
		}
	})
}
