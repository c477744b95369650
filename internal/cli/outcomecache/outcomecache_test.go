package outcomecache_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/cli/outcomecache"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

// counted is a store that counts its calls, and a cache before it.
func counted(tb testing.TB, c *clock, o outcomecache.Options) (*storetest.Faulty, *outcomecache.Store) {
	tb.Helper()
	inner := storetest.Break(memstore.New(&memstore.Options{Now: c.now}), storetest.Faults{})
	s := cached(tb, inner, c, o)
	tb.Cleanup(func() { _ = s.Close() })
	return inner, s
}

func params(n int) semel.ClaimParams {
	var d semel.Digest
	binary.LittleEndian.PutUint64(d[:], uint64(n))
	return semel.ClaimParams{Digest: d, Owner: semel.Owner{1}, Lease: time.Minute, Retention: time.Hour}
}

// finish claims and completes an intent, and reads it once.
func finish(tb testing.TB, s semel.Store, n int, outcome []byte) semel.ClaimParams {
	tb.Helper()
	p := params(n)
	rec, won, err := s.Claim(tb.Context(), p)
	if err != nil || !won {
		tb.Fatalf("claim: won %v, %v", won, err)
	}
	to := semel.Settlement{State: semel.StateCompleted, Outcome: outcome, Kept: true, Retention: time.Hour}
	if err := s.Settle(tb.Context(), rec.Digest, rec.Fence, to); err != nil {
		tb.Fatal(err)
	}
	if _, err := s.Lookup(tb.Context(), p.Digest); err != nil {
		tb.Fatal(err)
	}
	return p
}

// TestHit: promise 2 without a round trip.
func TestHit(t *testing.T) {
	t.Parallel()
	c := newClock()
	inner, s := counted(t, c, outcomecache.Options{})
	p := finish(t, s, 1, []byte("answer"))
	calls := inner.Calls("claim") + inner.Calls("lookup")
	inner.Partition() // no call reaches it any more
	c.advance(10 * time.Minute)
	for range 3 {
		rec, won, err := s.Claim(t.Context(), p)
		if err != nil || won || string(rec.Outcome) != "answer" || rec.RetentionLeft() != 50*time.Minute {
			t.Fatalf("claim: %q, won %v, %v left, %v; want the answer, 50 minutes left", rec.Outcome, won, rec.RetentionLeft(), err)
		}
		if rec, err = s.Lookup(t.Context(), p.Digest); err != nil || string(rec.Outcome) != "answer" {
			t.Fatalf("look up: %q, %v", rec.Outcome, err)
		}
	}
	if got := inner.Calls("claim") + inner.Calls("lookup"); got != calls {
		t.Errorf("the store was asked %d times more, want never", got-calls)
	}
}

// What the store below would refuse is refused, although the record is in memory.
func TestRefusalsOfAHit(t *testing.T) {
	t.Parallel()
	_, s := counted(t, newClock(), outcomecache.Options{})
	p := finish(t, s, 1, []byte("answer"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Claim(ended, p); err == nil {
		t.Error("claim: an ended context was not noticed")
	}
	if _, err := s.Lookup(ended, p.Digest); err == nil {
		t.Error("look up: an ended context was not noticed")
	}
	bad := p
	bad.Lease = 0
	if _, _, err := s.Claim(t.Context(), bad); err == nil {
		t.Error("claim: invalid parameters were not noticed")
	}
	must(t, s.Close())
	if _, _, err := s.Claim(t.Context(), p); !errors.Is(err, semel.ErrClosed) {
		t.Errorf("claim after Close: got %v", err)
	}
	if _, err := s.Lookup(t.Context(), p.Digest); !errors.Is(err, semel.ErrClosed) {
		t.Errorf("look up after Close: got %v", err)
	}
}

func TestHitAllocatesNothing(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts the whole process.
	_, s := counted(t, newClock(), outcomecache.Options{})
	p, ctx := finish(t, s, 1, []byte("answer")), t.Context()
	if allocs := testing.AllocsPerRun(100, func() { _, _, _ = s.Claim(ctx, p) }); allocs != 0 {
		t.Errorf("a hit allocates %v times, want never", allocs)
	}
}

// TestOnlyCompleted: what can still change is never answered from memory
// (promises 1 and 3).
func TestOnlyCompleted(t *testing.T) {
	t.Parallel()
	c := newClock()
	inner, s := counted(t, c, outcomecache.Options{})
	for n, state := range []semel.State{semel.StateClaimed, semel.StateUnknown, semel.StateCancelled} {
		p := params(n)
		rec, _, err := s.Claim(t.Context(), p)
		must(t, err)
		if state != semel.StateClaimed {
			must(t, s.Settle(t.Context(), p.Digest, rec.Fence, semel.Settlement{State: state, Retention: time.Hour}))
		}
		for range 2 {
			before := inner.Calls("lookup")
			if rec, err := s.Lookup(t.Context(), p.Digest); err != nil || rec.State != state || inner.Calls("lookup") != before+1 {
				t.Errorf("%v record: got %v, %v, asked %d times; want the store's own answer", state, rec.State, err, inner.Calls("lookup")-before)
			}
		}
	}
	if n := s.Bytes(); n != 0 {
		t.Errorf("%d bytes are kept, want none", n)
	}
}

// TestRetentionEnds: promise 2 ends with the retention, a little early rather
// than late (promise 9).
func TestRetentionEnds(t *testing.T) {
	t.Parallel()
	c := newClock()
	inner, s := counted(t, c, outcomecache.Options{})
	p := finish(t, s, 1, []byte("answer"))
	c.advance(time.Hour - time.Hour/100)
	before := inner.Calls("lookup")
	if _, err := s.Lookup(t.Context(), p.Digest); err != nil || inner.Calls("lookup") != before+1 {
		t.Errorf("at the end of the retention: %v, the store was asked %d times, want once", err, inner.Calls("lookup")-before)
	}
	c.advance(time.Hour / 100)
	if _, won, err := s.Claim(t.Context(), p); err != nil || !won {
		t.Errorf("after the retention: won %v, %v, want a new claim", won, err)
	}
}

// TestBound: promise 8, and the least recently used goes first.
func TestBound(t *testing.T) {
	t.Parallel()
	const maxBytes = 1 << 20
	c := newClock()
	inner, s := counted(t, c, outcomecache.Options{MaxBytes: maxBytes})
	first := finish(t, s, 0, make([]byte, 1000))
	for n := 1; n < 4000; n++ {
		finish(t, s, n, make([]byte, 1000))
		if _, err := s.Lookup(t.Context(), first.Digest); err != nil { // in use all the time
			t.Fatal(err)
		}
	}
	if got := s.Bytes(); got > maxBytes || got < maxBytes/2 {
		t.Errorf("%d bytes are kept, want at most %d and not much less", got, maxBytes)
	}
	before := inner.Calls("lookup")
	if _, err := s.Lookup(t.Context(), first.Digest); err != nil || inner.Calls("lookup") != before {
		t.Errorf("what is in use all the time was pushed out (%v)", err)
	}
	huge := finish(t, s, 5000, make([]byte, maxBytes/8))
	before = inner.Calls("lookup")
	if rec, err := s.Lookup(t.Context(), huge.Digest); err != nil || len(rec.Outcome) != maxBytes/8 || inner.Calls("lookup") != before+1 {
		t.Errorf("a record that is too large: %d bytes, %v, want it from the store", len(rec.Outcome), err)
	}
}

func TestForget(t *testing.T) {
	t.Parallel()
	c := newClock()
	inner, s := counted(t, c, outcomecache.Options{})
	p := finish(t, s, 1, []byte("personal"))
	s.Forget(p.Digest)
	before := inner.Calls("lookup")
	if _, err := s.Lookup(t.Context(), p.Digest); err != nil || inner.Calls("lookup") != before+1 {
		t.Errorf("after Forget: %v, the store was asked %d times, want once", err, inner.Calls("lookup")-before)
	}
}

// TestTogether: many goroutines, one memory; the race detector looks on.
func TestTogether(t *testing.T) {
	t.Parallel()
	c := newClock()
	_, s := counted(t, c, outcomecache.Options{MaxBytes: 64 << 10})
	const intents = 200
	for n := range intents {
		finish(t, s, n, []byte(fmt.Sprint("answer ", n)))
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				n := (i*7 + g) % intents
				rec, won, err := s.Claim(t.Context(), params(n))
				if err != nil || won || !bytes.Equal(rec.Outcome, []byte(fmt.Sprint("answer ", n))) {
					t.Errorf("intent %d: %q, won %v, %v", n, rec.Outcome, won, err)
					return
				}
				if i%50 == 0 {
					s.Forget(rec.Digest)
				}
			}
		})
	}
	wg.Wait()
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]outcomecache.Options{
		"MaxBytes is 100":           {MaxBytes: 100},
		"MaxRecordBytes is 9000000": {MaxRecordBytes: 9_000_000},
		"MaxRecordBytes is -1":      {MaxRecordBytes: -1},
	} {
		if _, err := outcomecache.New(memstore.New(nil), &o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that says %q", err, want)
		}
	}
	if _, err := outcomecache.New(nil, nil); err == nil {
		t.Error("a nil store was taken")
	}
}

func ExampleNew() {
	ctx := context.Background()
	records := memstore.New(nil) // in earnest a store on another machine
	store, err := outcomecache.New(records, &outcomecache.Options{MaxBytes: 64 << 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	guard, err := semel.New(store, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer guard.Close()
	for range 3 {
		answer, err := semel.Do(ctx, guard, semel.Key{Scope: semel.ScopeGlobal, Name: "order 7"}, semel.FingerprintOf("book"),
			func(context.Context) (string, error) { return "ordered", nil })
		fmt.Println(answer, err)
	}
	// Output:
	// ordered <nil>
	// ordered <nil>
	// ordered <nil>
}

var must = claimtest.NoError
