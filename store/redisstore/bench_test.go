package redisstore_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/groupcommit"
	"github.com/semel-dev/semel/store/redisstore"
)

const (
	benchCallers = 64
	benchRound   = 2048 // intents between two looks at the other side
	benchOutcome = 300  // bytes
)

// BenchmarkBesideRaw compares the verbs with plain commands of the same client
// by 64 goroutines, in turns, so that what else the machine does hits both.
// x-raw is the ratio of operations a second to those of the verbs: the median
// of the rounds. x-raw-fastest compares the fastest round of each side, which is
// nearer to what a machine without other work does.
func BenchmarkBesideRaw(b *testing.B) {
	addr := os.Getenv("SEMEL_BENCH_REDIS")
	if addr == "" {
		addr = testserver.Redis(b)
	}
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, ForceSingleClient: true, DisableCache: true, DisableRetry: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	s, err := redisstore.New(client, &redisstore.Options{Prefix: testserver.RedisPrefix(b, addr)})
	if err != nil {
		b.Fatal(err)
	}
	together, err := groupcommit.New(s, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := together.Close(); err != nil {
			b.Error(err)
		}
	})
	for name, store := range map[string]semel.Store{"alone": s, "groupcommit": together} {
		r := &rawBench{client: client, store: store, seed: rand.Uint64()}
		b.Run(name+"/cycle/two-SETs", func(b *testing.B) { r.compare(b, r.setTwice, r.cycle) })
		b.Run(name+"/cycle/two-SETs-with-PX", func(b *testing.B) { r.compare(b, r.setTwicePX, r.cycle) })
		b.Run(name+"/cycle/two-SETs-in-one-trip", func(b *testing.B) { r.compare(b, r.setBoth, r.cycle) })
		b.Run(name+"/replay/GET", func(b *testing.B) { r.settleSome(b); r.compare(b, r.get, r.replay) })
	}
}

type rawBench struct {
	client rueidis.Client
	store  semel.Store
	seed   uint64
	next   atomic.Uint64
}

// compare does rounds of both by turns.
func (r *rawBench) compare(b *testing.B, raw, verbs func(b *testing.B, i uint64)) {
	b.Helper()
	b.ReportAllocs()
	var ratios []float64
	var took, fastest [2]time.Duration
	rounds := b.N/benchRound + 1
	for range rounds {
		var pair [2]time.Duration
		for side, f := range []func(*testing.B, uint64){raw, verbs} {
			if side == 0 {
				b.StopTimer()
			} else {
				b.StartTimer()
			}
			began := time.Now()
			r.round(b, f)
			pair[side] = time.Since(began)
			took[side] += pair[side]
			if fastest[side] == 0 || pair[side] < fastest[side] {
				fastest[side] = pair[side]
			}
		}
		ratios = append(ratios, float64(pair[0])/float64(pair[1]))
	}
	slices.Sort(ratios)
	ops := float64(rounds * benchRound)
	b.ReportMetric(ratios[len(ratios)/2], "x-raw")
	b.ReportMetric(float64(fastest[0])/float64(fastest[1]), "x-raw-fastest")
	b.ReportMetric(float64(fastest[0].Nanoseconds())/benchRound, "raw-fastest-ns")
	b.ReportMetric(float64(took[0].Nanoseconds())/ops, "raw-ns")
	b.ReportMetric(float64(took[1].Nanoseconds())/ops, "verb-ns")
}

func (r *rawBench) round(b *testing.B, f func(*testing.B, uint64)) {
	b.Helper()
	last := r.next.Load() + benchRound
	var wg sync.WaitGroup
	for range benchCallers {
		wg.Go(func() {
			for i := r.next.Add(1); i <= last; i = r.next.Add(1) {
				f(b, i)
			}
		})
	}
	wg.Wait()
	r.next.Store(last)
}

func (r *rawBench) params(i uint64) semel.ClaimParams {
	p := semel.ClaimParams{
		Scope: "user-4711 POST /invoices", Name: "0b9e2c1e-7f39-7c58-9a3e-0d6f5f4e7a10",
		Owner: semel.Owner{1}, Lease: time.Minute, Retention: 20 * time.Second,
	}
	for at := 0; at < len(p.Digest); at += 8 { // spread like a SHA-256 sum
		word := (i + uint64(at) + r.seed) * 0x9E3779B97F4A7C15
		for j := range 8 {
			p.Digest[at+j] = byte(word >> (8 * j))
		}
	}
	return p
}

func (r *rawBench) key(i uint64) string {
	p := r.params(i)
	return fmt.Sprintf("%s{%x}%x", "raw:", p.Digest[:2], p.Digest[2:])
}

var rawValue = string(bytes.Repeat([]byte{'x'}, benchOutcome))

func (r *rawBench) set(key string) rueidis.Completed {
	return r.client.B().Set().Key(key).Value(rawValue).PxMilliseconds(20000).Build()
}

func (r *rawBench) must(b *testing.B, resp rueidis.RedisResult) {
	b.Helper()
	if err := resp.Error(); err != nil {
		b.Error(err)
	}
}

func (r *rawBench) setTwice(b *testing.B, i uint64) {
	b.Helper()
	key := r.key(i)
	r.must(b, r.client.Do(b.Context(), r.client.B().Set().Key(key).Value(rawValue).Build()))
	r.must(b, r.client.Do(b.Context(), r.client.B().Set().Key(key).Value(rawValue).Build()))
}

func (r *rawBench) setTwicePX(b *testing.B, i uint64) {
	b.Helper()
	key := r.key(i)
	r.must(b, r.client.Do(b.Context(), r.set(key)))
	r.must(b, r.client.Do(b.Context(), r.set(key)))
}

func (r *rawBench) setBoth(b *testing.B, i uint64) {
	b.Helper()
	key := r.key(i)
	for _, resp := range r.client.DoMulti(b.Context(), r.set(key), r.set(key)) {
		r.must(b, resp)
	}
}

func (r *rawBench) cycle(b *testing.B, i uint64) {
	b.Helper()
	rec, won, err := r.store.Claim(b.Context(), r.params(i))
	if err != nil || !won {
		b.Errorf("claim: won %v, error %v", won, err)
		return
	}
	done := semel.Settlement{State: semel.StateCompleted, Outcome: []byte(rawValue), Kept: true, Retention: 20 * time.Second}
	if err := r.store.Settle(b.Context(), rec.Digest, rec.Fence, done); err != nil {
		b.Error(err)
	}
}

const replayed = 1000

func (r *rawBench) settleSome(b *testing.B) {
	b.Helper()
	for i := range uint64(replayed) {
		p := r.params(1<<40 + i)
		p.Retention = time.Hour
		rec, _, err := r.store.Claim(b.Context(), p)
		if err != nil {
			b.Fatal(err)
		}
		if rec.State == semel.StateCompleted {
			continue
		}
		done := semel.Settlement{State: semel.StateCompleted, Outcome: []byte(rawValue), Kept: true, Retention: time.Hour}
		if err := r.store.Settle(b.Context(), rec.Digest, rec.Fence, done); err != nil {
			b.Fatal(err)
		}
		r.must(b, r.client.Do(b.Context(), r.client.B().Set().Key(r.key(1<<40+i)).Value(rawValue).PxMilliseconds(3600000).Build()))
	}
}

func (r *rawBench) get(b *testing.B, i uint64) {
	b.Helper()
	if v, err := r.client.Do(b.Context(), r.client.B().Get().Key(r.key(1<<40+i%replayed)).Build()).AsBytes(); err != nil || len(v) != benchOutcome {
		b.Errorf("got %d bytes, error %v", len(v), err)
	}
}

func (r *rawBench) replay(b *testing.B, i uint64) {
	b.Helper()
	rec, won, err := r.store.Claim(b.Context(), r.params(1<<40+i%replayed))
	if err != nil || won || len(rec.Outcome) != benchOutcome {
		b.Errorf("claim of a completed intent: won %v, error %v", won, err)
	}
}
