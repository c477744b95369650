package memstore_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func params(name string) semel.ClaimParams {
	key := semel.Key{Scope: "memstore", Name: name}
	return semel.ClaimParams{
		Digest: key.Digest(), Scope: key.Scope, Name: key.Name,
		Owner: semel.Owner{1}, Lease: time.Minute, Retention: time.Hour,
	}
}

func done(outcome []byte) semel.Settlement {
	return semel.Settlement{State: semel.StateCompleted, Outcome: outcome, Kept: true, Retention: time.Hour}
}

func win(t *testing.T, s *memstore.Store, name string) semel.Record {
	t.Helper()
	rec := claimtest.Wins(t, s, params(name))
	return rec
}

// Promises 1, 2 and 8: a full store refuses, and drops neither a live claim
// nor an outcome.
func TestFullOfRecords(t *testing.T) {
	t.Parallel()
	c := &claimtest.Clock{}
	s := memstore.New(&memstore.Options{Now: c.Now, MaxRecords: 3})
	live := win(t, s, "live")
	completed := win(t, s, "completed")
	claimtest.Settles(t, s, completed, done([]byte("answer")))
	released := win(t, s, "released")

	for range 3 {
		if _, won, err := s.Claim(t.Context(), params("one too many")); won || !errors.Is(err, semel.ErrFull) {
			t.Fatalf("promise 8: won %v, error %v, want %v", won, err, semel.ErrFull)
		}
	}
	for _, rec := range []semel.Record{live, completed, released} {
		if found, err := s.Lookup(t.Context(), rec.Digest); err != nil || found.Fence != rec.Fence {
			t.Errorf("promise 2: %s is gone from a full store: %v", rec.Name, err)
		}
	}
	claimtest.Wins(t, s, params("live"))
	claimtest.Settles(t, s, released, semel.Settlement{State: semel.StateReleased})
	win(t, s, "in the room of the released one")
}

// A full store makes room itself when something has expired, wherever it lies.
func TestFullOfExpiredRecords(t *testing.T) {
	t.Parallel()
	const many = 500
	c := &claimtest.Clock{}
	s := memstore.New(&memstore.Options{Now: c.Now, MaxRecords: many})
	for i := range many {
		win(t, s, fmt.Sprint("old ", i))
	}
	if _, _, err := s.Claim(t.Context(), params("early")); !errors.Is(err, semel.ErrFull) {
		t.Fatalf("got %v, want %v", err, semel.ErrFull)
	}
	c.Advance(time.Hour + time.Minute)
	for i := range many {
		win(t, s, fmt.Sprint("new ", i))
	}
	if n, _ := s.Count(t.Context()); n != many {
		t.Errorf("%d records are kept, want %d", n, many)
	}
}

func TestFullOfRecordsWithOneExpired(t *testing.T) {
	t.Parallel()
	const many = 2000
	c := &claimtest.Clock{}
	s := memstore.New(&memstore.Options{Now: c.Now, MaxRecords: many})
	short := params("short")
	short.Retention = time.Minute
	claimtest.Wins(t, s, short)
	for i := range many - 1 {
		win(t, s, fmt.Sprint(i))
	}
	c.Advance(2 * time.Minute)
	win(t, s, "in the room of the expired one")
	if _, _, err := s.Claim(t.Context(), params("one too many")); !errors.Is(err, semel.ErrFull) {
		t.Errorf("got %v, want %v", err, semel.ErrFull)
	}
}

// Promise 8: an outcome that does not fit is refused, and the claim stays.
func TestFullOfBytes(t *testing.T) {
	t.Parallel()
	c := &claimtest.Clock{}
	s := memstore.New(&memstore.Options{Now: c.Now, MaxBytes: 1000})
	rec := win(t, s, "a")
	big := done(make([]byte, 995))
	claimtest.WantErr(t, "promise 8: ", s.Settle(t.Context(), rec.Digest, rec.Fence, big), semel.ErrFull)
	found, err := s.Lookup(t.Context(), rec.Digest)
	if err != nil || found.State != semel.StateClaimed || !found.ExpiresAt.Equal(rec.ExpiresAt) {
		t.Errorf("promise 8: the claim is %v, error %v, want it as it was", found.State, err)
	}
	claimtest.Settles(t, s, rec, done(make([]byte, 900)))
	if _, _, err := s.Claim(t.Context(), params(string(make([]byte, 200)))); !errors.Is(err, semel.ErrFull) {
		t.Errorf("promise 8: a key that does not fit: got %v, want %v", err, semel.ErrFull)
	}
	if n, _ := s.Count(t.Context()); n != 1 {
		t.Errorf("promise 8: a refused claim still takes room: %d records, want 1", n)
	}
	other := win(t, s, "b")
	if err := s.Settle(t.Context(), other.Digest, other.Fence, done(make([]byte, 900))); !errors.Is(err, semel.ErrFull) {
		t.Errorf("promise 8: two outcomes that do not fit together: got %v, want %v", err, semel.ErrFull)
	}
	note := semel.Settlement{State: semel.StateUnknown, Note: string(make([]byte, semel.MaxNoteBytes)), Retention: 2 * time.Hour}
	if err := s.Settle(t.Context(), other.Digest, other.Fence, note); err != nil {
		t.Errorf("promise 3: a claim must always be settled as unknown: %v", err)
	}
	c.Advance(time.Hour)
	if err := s.Settle(t.Context(), other.Digest, other.Fence, done(make([]byte, 900))); err != nil {
		t.Errorf("the expired outcome must have made room: %v", err)
	}
}

// Room that was taken is given back, whatever happens to a record.
func TestRoomIsGivenBack(t *testing.T) {
	t.Parallel()
	c := &claimtest.Clock{}
	s := memstore.New(&memstore.Options{Now: c.Now, MaxRecords: 1, MaxBytes: 600})
	for i := range 1000 {
		rec := win(t, s, "a")
		c.Advance(time.Minute)
		p := params("another name")
		p.Digest, p.TakeOver, p.Owner = rec.Digest, rec.Fence, semel.Owner{2}
		rec, won, err := s.Claim(t.Context(), p)
		if !won || err != nil {
			t.Fatalf("round %d: takeover: won %v, error %v", i, won, err)
		}
		guess := semel.Settlement{State: semel.StateUnknown, Outcome: make([]byte, 500), Retention: time.Hour}
		if err := s.Settle(t.Context(), rec.Digest, rec.Fence, guess); err != nil {
			t.Fatalf("round %d: settle as unknown: %v", i, err)
		}
		if i%3 == 0 {
			err = s.Settle(t.Context(), rec.Digest, rec.Fence, semel.Settlement{State: semel.StateReleased})
		} else {
			err = s.Settle(t.Context(), rec.Digest, rec.Fence, done(make([]byte, 550)))
			c.Advance(time.Hour)
		}
		if err != nil {
			t.Fatalf("round %d: settle: %v", i, err)
		}
	}
}

// Promise 8: the bounds hold while many claim at once.
func TestBoundsUnderLoad(t *testing.T) {
	t.Parallel()
	const bound = 100
	s := memstore.New(&memstore.Options{MaxRecords: bound})
	var wg sync.WaitGroup
	var mu sync.Mutex
	wins := 0
	for i := range 16 {
		wg.Go(func() {
			for j := range 50 {
				if _, won, err := s.Claim(t.Context(), params(fmt.Sprint(i, "/", j))); won && err == nil {
					mu.Lock()
					wins++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if n, _ := s.Count(t.Context()); wins != bound || n != bound {
		t.Errorf("%d wins and %d records, want %d of both", wins, n, bound)
	}
}

// Promise 1: fences grow across restarts, as the clock does.
func TestFencesGrowAcrossRestarts(t *testing.T) {
	t.Parallel()
	c := &claimtest.Clock{}
	var last semel.Fence
	for life := range 5 {
		s := memstore.New(&memstore.Options{Now: c.Now})
		for i := range 100 {
			rec := win(t, s, fmt.Sprint(i))
			if rec.Fence <= last {
				t.Fatalf("life %d: promise 1: got fence %d, want > %d", life, rec.Fence, last)
			}
			last = rec.Fence
		}
		c.Advance(time.Millisecond)
	}
}

// Promise 9: without Options.Now, time counts from New.
func TestClockOfTheHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(nil)
		rec := win(t, s, "a")
		time.Sleep(time.Minute - time.Millisecond)
		if found, _ := s.Lookup(t.Context(), rec.Digest); found.LeaseLeft() != time.Millisecond {
			t.Errorf("lease left: got %v, want 1ms", found.LeaseLeft())
		}
		time.Sleep(time.Hour + time.Millisecond)
		claimtest.WantGone(t, s, rec.Digest)
	})
}

//nolint:paralleltest // allocations are counted for the whole process.
func TestClaimNeverAllocatesMoreThanTwice(t *testing.T) {
	s := memstore.New(nil)
	ctx := t.Context()
	to := done(make([]byte, 300))
	var rec semel.Record
	var err error
	p := params("a")
	released := semel.Settlement{State: semel.StateReleased}
	for name, verb := range map[string]func(){
		"claim and release": func() {
			if rec, _, err = s.Claim(ctx, p); err == nil {
				err = s.Settle(ctx, rec.Digest, rec.Fence, released)
			}
		},
		"lookup of nothing": func() {
			if _, err = s.Lookup(ctx, p.Digest); errors.Is(err, semel.ErrNotFound) {
				err = nil
			}
		},
		"failed claim": func() { _, _, err = s.Claim(ctx, semel.ClaimParams{Digest: p.Digest, Lease: 1e9, Retention: 1e9}) },
	} {
		if got := testing.AllocsPerRun(100, verb); got > 2 || err != nil {
			t.Errorf("%s: got %v allocations, error %v, want at most 2", name, got, err)
		}
	}
	rec = win(t, s, "b")
	claimtest.NoError(t, s.Settle(ctx, rec.Digest, rec.Fence, to))
	p = params("b")
	if got := testing.AllocsPerRun(100, func() { rec, _, err = s.Claim(ctx, p) }); got != 0 || err != nil {
		t.Errorf("replay: got %v allocations, error %v, want none", got, err)
	}
}
