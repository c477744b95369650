package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/sqlitestore"
)

// gate is a clock that can hold the writer between taking the file's lock and
// running the first step of a batch: the store asks for the time there, once
// in each transaction.
type gate struct {
	hands   *claimtest.Clock
	held    atomic.Bool
	entered chan struct{}
	leave   chan struct{}
	asked   atomic.Int64
}

func newGate() *gate {
	return &gate{hands: &claimtest.Clock{}, entered: make(chan struct{}), leave: make(chan struct{})}
}

func (g *gate) Now() time.Time {
	g.asked.Add(1)
	if g.held.CompareAndSwap(true, false) {
		g.entered <- struct{}{}
		<-g.leave
	}
	return g.hands.Now()
}

// hold starts a claim and returns when the writer is held in the middle of it.
func (g *gate) hold(t *testing.T, ctx context.Context, s *sqlitestore.Store, name string) <-chan error { //nolint:revive // t first, as everywhere in tests.
	t.Helper()
	g.held.Store(true)
	done := make(chan error, 1)
	go func() {
		_, _, err := s.Claim(ctx, params(name))
		done <- err
	}()
	<-g.entered
	return done
}

func openGated(t *testing.T, o *sqlitestore.Options) (*sqlitestore.Store, *gate, string) {
	t.Helper()
	g := newGate()
	if o == nil {
		o = &sqlitestore.Options{}
	}
	o.Now = g.Now
	path := filepath.Join(t.TempDir(), "semel.db")
	return open(t, path, o), g, path
}

// Steps that wait share one commit, in the order in which they came.
func TestStepsShareOneCommit(t *testing.T) {
	t.Parallel()
	s, g, _ := openGated(t, nil)
	first := g.hold(t, t.Context(), s, "first")
	const n = 64
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if _, won, err := s.Claim(t.Context(), params(fmt.Sprint(i))); err != nil || !won {
				t.Errorf("claim %d: won %v, error %v", i, won, err)
			}
		})
	}
	testserver.Eventually(t, "the steps to queue", func() bool { return s.Queued() == n })
	before := g.asked.Load()
	close(g.leave)
	wg.Wait()
	noError(t, <-first)
	if got := g.asked.Load() - before; got != 1 {
		t.Errorf("%d steps took %d transactions, want 1", n, got)
	}
}

// Two steps on one digest keep their order within a batch: of two claims the
// first one wins, and a settlement after a claim finds it.
func TestBatchKeepsOrder(t *testing.T) {
	t.Parallel()
	s, g, _ := openGated(t, nil)
	first := g.hold(t, t.Context(), s, "first")
	const n = 20
	var wg sync.WaitGroup
	won := make([]bool, n)
	for i := range n {
		p := params("same")
		p.Owner = semel.Owner{byte(i + 1)}
		wg.Go(func() {
			var err error
			if _, won[i], err = s.Claim(t.Context(), p); err != nil {
				t.Error(err)
			}
		})
		testserver.Eventually(t, "the claim to queue", func() bool { return s.Queued() == i+1 })
	}
	// The fence is known: the first claim has 1, the next one 2.
	wg.Go(func() {
		if err := s.Settle(t.Context(), params("same").Digest, 2, completed("x")); err != nil {
			t.Error(err)
		}
	})
	testserver.Eventually(t, "the settlement to queue", func() bool { return s.Queued() == n+1 })
	close(g.leave)
	wg.Wait()
	noError(t, <-first)
	for i, w := range won {
		if w != (i == 0) {
			t.Errorf("claim %d of %d: won is %v", i, n, w)
		}
	}
	wantFound(t, s, params("same").Digest, semel.StateCompleted)
}

// A step whose caller gave up before it was started is not executed; one that
// was under way may have been, and can be repeated.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	s, g, _ := openGated(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	underWay := g.hold(t, ctx, s, "under way")
	queuedCtx, cancelQueued := context.WithCancel(t.Context())
	queued := make(chan error, 1)
	go func() {
		_, _, err := s.Claim(queuedCtx, params("queued"))
		queued <- err
	}()
	testserver.Eventually(t, "the claim to queue", func() bool { return s.Queued() == 1 })

	cancelQueued()
	if err := <-queued; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "not executed") {
		t.Errorf("queued: got %v", err)
	}
	cancel()
	if err := <-underWay; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "may have been executed") {
		t.Errorf("under way: got %v", err)
	}
	_, _, err := s.Claim(ctx, params("late"))
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "not executed") {
		t.Errorf("late: got %v", err)
	}
	close(g.leave)

	if rec, won, err := s.Claim(t.Context(), params("under way")); err != nil || !won || rec.Fence != 1 {
		t.Errorf("repeated: got won %v, fence %d, error %v, want the claim with fence 1", won, rec.Fence, err)
	}
	for _, name := range []string{"queued", "late"} {
		wantGone(t, s, params(name).Digest)
	}
}

// A step that waits for another process's lock has not been started.
func TestContextEndsBeforeTheLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "semel.db")
	s := open(t, path, &sqlitestore.Options{BusyTimeout: time.Minute})
	unlock := lock(t, path)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, _, err := s.Claim(ctx, params("k"))
	unlock()
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "not executed") {
		t.Errorf("got %v, want it not executed", err)
	}
	if rec, won, err := s.Claim(t.Context(), params("next")); err != nil || !won || rec.Fence != 1 {
		t.Errorf("got won %v, fence %d, error %v, want the first fence", won, rec.Fence, err)
	}
	wantGone(t, s, params("k").Digest)
}

// A step that fails on its own fails its own caller only (here: an outcome
// that the bound of the file has no room for), and its claim stays.
func TestFailureHitsItsCallerOnly(t *testing.T) {
	t.Parallel()
	s, g, path := openGated(t, &sqlitestore.Options{MaxBytes: 1 << 20})
	const n = 20
	recs := make([]semel.Record, n)
	for i := range n {
		var err error
		if recs[i], _, err = s.Claim(t.Context(), params(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	first := g.hold(t, t.Context(), s, "first")
	const large = 7
	var wg sync.WaitGroup
	for i, rec := range recs {
		size := 100
		if i == large {
			size = 2 << 20
		}
		wg.Go(func() {
			err := s.Settle(t.Context(), rec.Digest, rec.Fence, completed(strings.Repeat("x", size)))
			switch {
			case i == large && !errors.Is(err, semel.ErrFull):
				t.Errorf("settle %d: got %v, want %v", i, err, semel.ErrFull)
			case i == large:
				wantWords(t, err, "settle", path, "raise the bound")
			case err != nil:
				t.Errorf("settle %d: %v", i, err)
			}
		})
	}
	testserver.Eventually(t, "the settlements to queue", func() bool { return s.Queued() == n })
	close(g.leave)
	wg.Wait()
	noError(t, <-first)
	for i, rec := range recs {
		want := semel.StateCompleted
		if i == large {
			want = semel.StateClaimed
		}
		wantFound(t, s, rec.Digest, want)
	}
	check(t, path)
}

// Close waits for the steps that were begun; they are committed.
func TestCloseDrains(t *testing.T) {
	t.Parallel()
	s, g, path := openGated(t, nil)
	first := g.hold(t, t.Context(), s, "first")
	const n = 50
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if _, _, err := s.Claim(t.Context(), params(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	testserver.Eventually(t, "the steps to queue", func() bool { return s.Queued() == n })
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	testserver.Eventually(t, "the store to refuse", func() bool {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return errors.Is(s.Renew(ctx, semel.Digest{}, 1, lease), semel.ErrClosed)
	})
	close(g.leave)
	wg.Wait()
	noError(t, errors.Join(<-first, <-closed))
	if got, err := open(t, path, nil).Count(t.Context()); err != nil || got != n+1 {
		t.Errorf("got %d records, error %v, want %d", got, err, n+1)
	}
}

// The outcome is the caller's memory again when Settle returns, even when its
// context ended while the step was under way.
func TestOutcomeIsCopied(t *testing.T) {
	t.Parallel()
	s, g, _ := openGated(t, nil)
	rec := wins(t, s, params("k"))
	ctx, cancel := context.WithCancel(t.Context())
	to := completed("the outcome")
	g.held.Store(true)
	done := make(chan error, 1)
	go func() { done <- s.Settle(ctx, rec.Digest, rec.Fence, to) }()
	<-g.entered
	cancel()
	wantErr(t, "", <-done, context.Canceled)
	copy(to.Outcome, "overwritten")
	close(g.leave)
	if err := s.Settle(t.Context(), rec.Digest, rec.Fence, completed("the outcome")); err != nil {
		t.Errorf("repeated: %v", err)
	}
	if got, err := s.Lookup(t.Context(), rec.Digest); err != nil || string(got.Outcome) != "the outcome" {
		t.Errorf("got %q, error %v", got.Outcome, err)
	}
}
