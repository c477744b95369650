package outcomecache_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/outcomecache"
	"github.com/semel-dev/semel/store/memstore"
)

// Promise 2: a store behind a cache answers as it would without, in every
// order of verbs and at every time; ReadAt included, so promise 9 as well.
func TestAnswersAsWithout(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		clock := newClock()
		bare := memstore.New(&memstore.Options{Now: clock.now})
		o := outcomecache.Options{MaxBytes: 64 << 10} // a few records in each part
		o.SetNow(clock.now)
		kept, err := outcomecache.New(memstore.New(&memstore.Options{Now: clock.now}), &o)
		if err != nil {
			r.Fatal(err)
		}
		defer bare.Close()
		defer kept.Close()
		seen := map[semel.Digest]semel.Fence{}
		same := func(act string, with, without any) {
			r.Helper()
			if diff := cmp.Diff(without, with, cmpopts.EquateErrors(), cmpopts.EquateEmpty()); diff != "" {
				r.Fatalf("%s: (-without +with the cache)\n%s", act, diff)
			}
		}
		// Twelve intents in three of the sixteen parts.
		digest := func(r *rapid.T) semel.Digest {
			return params(rapid.SampledFrom([]int{0, 1, 2, 16, 17, 32, 33, 48, 64, 80, 96, 112}).Draw(r, "intent")).Digest
		}
		r.Repeat(map[string]func(*rapid.T){
			"claim": func(r *rapid.T) {
				p := params(0)
				p.Digest = digest(r)
				p.Owner = semel.Owner{rapid.ByteRange(0, 2).Draw(r, "owner")}
				if rapid.Bool().Draw(r, "take over") {
					p.TakeOver = seen[p.Digest]
				}
				rec, won, err := kept.Claim(r.Context(), p)
				rec2, won2, err2 := bare.Claim(r.Context(), p)
				same("claim", []any{rec, won, err}, []any{rec2, won2, err2})
				seen[p.Digest] = rec.Fence
			},
			"lookup": func(r *rapid.T) {
				d := digest(r)
				rec, err := kept.Lookup(r.Context(), d)
				rec2, err2 := bare.Lookup(r.Context(), d)
				same("lookup", []any{rec, err}, []any{rec2, err2})
			},
			"settle": func(r *rapid.T) {
				d := digest(r)
				s := semel.Settlement{
					State: rapid.SampledFrom([]semel.State{
						semel.StateCompleted, semel.StateCompleted, semel.StateCompleted,
						semel.StateReleased, semel.StateUnknown, semel.StateCancelled,
					}).Draw(r, "state"),
					Retention: time.Hour,
				}
				if s.State == semel.StateCompleted {
					s.Outcome = make([]byte, rapid.IntRange(0, 1500).Draw(r, "bytes"))
					s.Kept = rapid.Bool().Draw(r, "kept")
				}
				same("settle", kept.Settle(r.Context(), d, seen[d], s), bare.Settle(r.Context(), d, seen[d], s))
			},
			"time passes": func(r *rapid.T) {
				clock.advance(rapid.SampledFrom([]time.Duration{
					time.Millisecond, time.Second, time.Minute, 59 * time.Minute, time.Hour - time.Millisecond, time.Hour,
				}).Draw(r, "by"))
			},
			"forget": func(r *rapid.T) { kept.Forget(digest(r)) },
			"": func(r *rapid.T) {
				if n := kept.Bytes(); n > 64<<10 {
					r.Fatalf("%d bytes are kept", n)
				}
			},
		})
	})
}

// A clock of this process that runs slower than the store's, as far as clocks
// do, gives no outcome whose retention is over (promise 9).
func TestSlowClock(t *testing.T) {
	t.Parallel()
	store := newClock()
	began := store.now()
	o := outcomecache.Options{}
	o.SetNow(func() time.Time { return began.Add(store.now().Sub(began) * 995 / 1000) })
	s, err := outcomecache.New(memstore.New(&memstore.Options{Now: store.now}), &o)
	must(t, err)
	defer s.Close()
	p := finish(t, s, 1, []byte("answer"))
	for i := range 3 {
		store.advance(time.Hour - time.Millisecond)
		if rec, err := s.Lookup(t.Context(), p.Digest); err != nil || string(rec.Outcome) != fmt.Sprint("answer", []string{"", " 2", " 3"}[i]) {
			t.Errorf("at the end of the retention: %q, %v", rec.Outcome, err)
		}
		store.advance(time.Millisecond)
		rec, won, err := s.Claim(t.Context(), p)
		if err != nil || !won {
			t.Fatalf("after the retention: won %v, %v; want a new claim", won, err)
		}
		to := semel.Settlement{State: semel.StateCompleted, Outcome: fmt.Append(nil, "answer ", i+2), Kept: true, Retention: time.Hour}
		must(t, s.Settle(t.Context(), p.Digest, rec.Fence, to))
		if _, err := s.Lookup(t.Context(), p.Digest); err != nil {
			t.Fatal(err)
		}
	}
}
