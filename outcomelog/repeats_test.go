package outcomelog_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/outcomelog"
)

func digestOf(i int) string {
	sum := sha256.Sum256(fmt.Append(nil, i))
	return hex.EncodeToString(sum[:])
}

// The counts of all repetitions are kept, and the last 20 one by one.
func TestRepeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, key := outcomelog.NewRepeats(), digestOf(1)
		begun := time.Now().UTC()
		say := func(o outcomelog.Outcome, status int) {
			r.Keep(t.Context(), outcomelog.Event{Key: key, Outcome: o, Status: status})
			time.Sleep(time.Second)
		}
		for range 30 {
			say(outcomelog.Replayed, 201)
		}
		say(outcomelog.InFlight, 409)
		say(outcomelog.Mismatch, 422)
		for _, other := range []outcomelog.Outcome{outcomelog.Created, outcomelog.Executed, outcomelog.Unavailable, outcomelog.Quota, "nonsense"} {
			say(other, 200)
		}
		r.Keep(t.Context(), outcomelog.Event{Outcome: outcomelog.Replayed}) // without a key
		got := r.Of(key)
		want := map[outcomelog.Outcome]int{outcomelog.Replayed: 30, outcomelog.InFlight: 1, outcomelog.Mismatch: 1}
		if diff := cmp.Diff(want, got.Counts); diff != "" || !got.First.Equal(begun) || !got.Last.Equal(begun.Add(31*time.Second)) {
			t.Errorf("first %v, last %v, (-want +got):\n%s", got.First, got.Last, diff)
		}
		if len(got.Recent) != 20 {
			t.Fatalf("got %d one by one", len(got.Recent))
		}
		if got.Recent[0] != (outcomelog.Repetition{At: got.Last, Outcome: outcomelog.Mismatch, Status: 422}) || got.Recent[2].Outcome != outcomelog.Replayed ||
			!got.Recent[19].At.Equal(got.Last.Add(-19*time.Second)) {
			t.Errorf("got %v", got.Recent)
		}
		if none := r.Of(digestOf(2)); len(none.Recent) > 0 || len(r.Of("").Recent) > 0 {
			t.Errorf("a key that was not repeated has %v", none)
		}
	})
}

// Promise 8: a hundred thousand keys, repeated from many goroutines, take as much room as four thousand. A key that is repeated
// all the time stays.
func TestRepeatsAreBounded(t *testing.T) {
	t.Parallel()
	const keys, goroutines = 100_000, 8
	r, busy := outcomelog.NewRepeats(), digestOf(-1)
	var all sync.WaitGroup
	var touched atomic.Int64
	for g := range goroutines {
		all.Go(func() {
			for i := g; i < keys; i += goroutines {
				r.Keep(t.Context(), outcomelog.Event{Key: digestOf(i), Outcome: outcomelog.Replayed, Status: 200})
				if i/goroutines%7 == 0 { // so that no more than 56 others come in between, and a shard has room for 64
					touched.Add(1)
					r.Keep(t.Context(), outcomelog.Event{Key: busy, Outcome: outcomelog.Replayed, Status: 200})
					r.Of(busy)
				}
			}
		})
	}
	all.Wait()
	remembered := 0
	for i := range keys {
		of := r.Of(digestOf(i))
		if n := of.Counts[outcomelog.Replayed]; n > 1 {
			t.Fatalf("key %d was repeated %d times", i, n)
		}
		remembered += len(of.Recent)
	}
	if remembered > 4096 || remembered < 4000 {
		t.Errorf("%d keys are remembered", remembered)
	}
	if n := r.Of(busy).Counts[outcomelog.Replayed]; int64(n) != touched.Load() {
		t.Errorf("the busy key was repeated %d times, want %d", n, touched.Load())
	}
}

// A repetition of a key that is remembered allocates nothing: it is on the path of every replay.
func TestRepeatsAllocateNothing(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts for all tests.
	r, event := outcomelog.NewRepeats(), outcomelog.Event{Key: digestOf(1), Outcome: outcomelog.Replayed, Status: 200}
	r.Keep(t.Context(), event)
	if allocated := testing.AllocsPerRun(100, func() { r.Keep(t.Context(), event) }); allocated > 0 {
		t.Errorf("a repetition allocates %v times", allocated)
	}
}

func BenchmarkRepeats(b *testing.B) {
	r, keys := outcomelog.NewRepeats(), make([]string, 10_000)
	for i := range keys {
		keys[i] = digestOf(i)
	}
	for _, n := range []int{1, len(keys)} { // one that is remembered, and more than are
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchmarkRepeats(b, r, keys[:n]) })
	}
}

func benchmarkRepeats(b *testing.B, r *outcomelog.Repeats, keys []string) {
	b.Helper()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			r.Keep(b.Context(), outcomelog.Event{Key: keys[i%len(keys)], Outcome: outcomelog.Replayed, Status: 200})
		}
	})
}

// TestRepeatsOfLog: the log answers for the memory; where it does not, the memory's own come with the error.
func TestRepeatsOfLog(t *testing.T) {
	t.Parallel()
	memory, key := outcomelog.NewRepeats(), strings.Repeat("ab", 32)
	var broken error
	memory.UseLog(func(context.Context, string) (outcomelog.Repetitions, error) {
		return outcomelog.Repetitions{Counts: map[outcomelog.Outcome]int{outcomelog.Replayed: 7}}, broken
	})
	memory.Keep(t.Context(), outcomelog.Event{Key: key, Outcome: outcomelog.Mismatch})
	if all, since, err := memory.All(t.Context(), key); err != nil || !since.IsZero() || all.Counts[outcomelog.Replayed] != 7 {
		t.Errorf("of the log: %+v since %v, %v", all, since, err)
	}
	broken = errors.New("gone")
	if all, since, err := memory.All(t.Context(), key); !errors.Is(err, broken) || since.IsZero() || all.Counts[outcomelog.Mismatch] != 1 || len(all.Counts) != 1 {
		t.Errorf("of the memory: %+v since %v, %v", all, since, err)
	}
}
