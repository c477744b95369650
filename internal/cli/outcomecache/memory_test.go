package outcomecache_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/outcomecache"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

// answering is a store that knows one answer to everything, cut from the
// middle of something large.
type answering struct {
	semel.Store

	rec semel.Record
}

func (a *answering) Lookup(context.Context, semel.Digest) (semel.Record, error) { return a.rec, nil }

// What is kept is kept in memory of its own: what it was cut from is not kept
// alive, and a caller that writes there changes nothing.
func TestOwnMemory(t *testing.T) {
	t.Parallel()
	page := []byte(strings.Repeat("a page of a network buffer, with an answer ", 1000))
	text := string(page)
	now := time.Now()
	below := &answering{Store: memstore.New(nil), rec: semel.Record{
		State: semel.StateCompleted, Fence: 1, Scope: text[2:6], // and no other text
		Outcome: page[100:143:143], Kept: true, ReadAt: now, ExpiresAt: now.Add(time.Hour),
	}}
	s, err := outcomecache.New(below, nil)
	must(t, err)
	defer s.Close()
	first, err := s.Lookup(t.Context(), semel.Digest{1})
	must(t, err)
	want := string(first.Outcome)
	below.rec.State = semel.StateAbsent // it is asked no more
	for i := range page {
		page[i] = 'X'
	}
	rec, err := s.Lookup(t.Context(), semel.Digest{})
	if err != nil || string(rec.Outcome) != want || rec.Scope != "page" {
		t.Errorf("got %+v, %v; want the record as it was", rec, err)
	}
	if unsafe.StringData(rec.Scope) == unsafe.StringData(below.rec.Scope) {
		t.Error("the scope keeps alive what it was cut from")
	}
	if cap(rec.Outcome) != len(rec.Outcome) {
		t.Error("appending to the outcome writes into shared memory")
	}
}

// Promise 8: Bytes is not less than the memory that is really taken.
func TestBytesAreMemory(t *testing.T) { //nolint:paralleltest // it measures the memory of the whole process.
	for _, size := range []int{0, 300, 5000} {
		below := &answering{Store: memstore.New(nil)}
		s, err := outcomecache.New(below, &outcomecache.Options{MaxBytes: 8 << 20})
		must(t, err)
		before := heap()
		now := time.Now()
		for n := range 40_000 {
			below.rec = semel.Record{
				Digest: params(n).Digest, State: semel.StateCompleted, Fence: 1, ReadAt: now, ExpiresAt: now.Add(time.Hour),
				Scope: "tenant-7 POST /invoices", Name: fmt.Sprintf("0b9e2c1e-7f39-7c58-9a3e-%012d", n),
				Outcome: make([]byte, size), Kept: true,
			}
			if _, err := s.Lookup(t.Context(), below.rec.Digest); err != nil {
				t.Fatal(err)
			}
		}
		taken, counted := heap()-before, s.Bytes()
		t.Logf("outcomes of %d bytes: %d bytes counted, %d taken", size, counted, taken)
		if counted > 8<<20 || counted < 7<<20 || taken > counted*21/20 {
			t.Errorf("outcomes of %d bytes: %d bytes counted, %d taken", size, counted, taken)
		}
		_ = s.Close()
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What is being read while it is forgotten is not kept.
func TestForgetWhileReading(t *testing.T) {
	t.Parallel()
	c := newClock()
	reading, erased := make(chan struct{}), make(chan struct{})
	inner := storetest.Break(memstore.New(&memstore.Options{Now: c.now}), storetest.Faults{After: func(op storetest.Call) error {
		if op.Verb == "lookup" && op.N == 2 {
			close(reading)
			<-erased
		}
		return nil
	}})
	s := cached(t, inner, c, outcomecache.Options{})
	defer s.Close()
	p := finish(t, s, 1, []byte("personal"))
	s.Forget(p.Digest)
	done := make(chan error)
	go func() {
		_, err := s.Lookup(t.Context(), p.Digest)
		done <- err
	}()
	<-reading
	s.Forget(p.Digest) // the row has just been erased
	close(erased)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := s.Bytes(); n != 0 {
		t.Errorf("%d bytes are kept of what was forgotten", n)
	}
}

// Promise 9: an answer is as old as its question, however long it was on its way.
func TestSlowAnswer(t *testing.T) {
	t.Parallel()
	c := newClock()
	slow := false
	inner := storetest.Break(memstore.New(&memstore.Options{Now: c.now}), storetest.Faults{After: func(storetest.Call) error {
		if slow {
			c.advance(30 * time.Minute)
		}
		return nil
	}})
	s := cached(t, inner, c, outcomecache.Options{})
	defer s.Close()
	p := finish(t, s, 1, []byte("answer"))
	for name, read := range map[string]func() (semel.Record, error){
		"lookup": func() (semel.Record, error) { return s.Lookup(t.Context(), p.Digest) },
		"claim":  func() (semel.Record, error) { rec, _, err := s.Claim(t.Context(), p); return rec, err },
	} {
		s.Forget(p.Digest)
		slow = true
		first, err := read()
		slow = false
		must(t, err)
		c.advance(-25 * time.Minute)
		again, err := read()
		if err != nil || again.ReadAt.Sub(first.ReadAt) != 5*time.Minute {
			t.Errorf("%s: 5 minutes after the question the record was read %v later, %v", name, again.ReadAt.Sub(first.ReadAt), err)
		}
		c.advance(-5 * time.Minute)
	}
}

// A slow reader does not put an old record in the place of a newer one.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	now := time.Now()
	below := &answering{Store: memstore.New(nil), rec: semel.Record{
		State: semel.StateCompleted, Fence: 2, Outcome: []byte("new"), ReadAt: now, ExpiresAt: now.Add(time.Hour),
	}}
	s, err := outcomecache.New(below, nil)
	must(t, err)
	defer s.Close()
	// Two readers with different digests of the question, and one record: as
	// if the second had asked before the first, and was answered after it.
	for _, fence := range []semel.Fence{2, 1} {
		below.rec.Fence, below.rec.Outcome = fence, []byte([]string{"", "old", "new"}[fence])
		if _, err := s.Lookup(t.Context(), semel.Digest{16 * byte(fence)}); err != nil {
			t.Fatal(err)
		}
	}
	if rec, err := s.Lookup(t.Context(), semel.Digest{}); err != nil || string(rec.Outcome) != "new" {
		t.Errorf("got %q, %v; want the newer record", rec.Outcome, err)
	}
}

// A record that just does not fit pushes nothing out.
func TestTooLargeARecord(t *testing.T) {
	t.Parallel()
	const maxBytes = 1 << 20
	c := newClock()
	_, s := counted(t, c, outcomecache.Options{MaxBytes: maxBytes})
	finish(t, s, 1, []byte("small"))
	before := s.Bytes()
	for n := 2; n < 200; n++ { // some are in the part of the cache where the small one is
		finish(t, s, n, make([]byte, maxBytes/16-1024))
	}
	if after := s.Bytes(); before == 0 || after != before {
		t.Errorf("%d bytes are kept, %d before records that are too large", after, before)
	}
}
