package semel_test

import (
	"fmt"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
)

// BenchmarkBegin measures what the guard adds around work that costs nothing:
// a fresh claim with its settlement, and a replay.
func BenchmarkBegin(b *testing.B) { benchmarkBegin(b, nil) }

// BenchmarkBeginSealed is the same with outcomes that are encrypted.
func BenchmarkBeginSealed(b *testing.B) {
	benchmarkBegin(b, &semel.Options{OutcomeKeys: []semel.OutcomeKey{outcomeKey("k1")}})
}

// BenchmarkBeginRotating is the same while a secret is replaced.
func BenchmarkBeginRotating(b *testing.B) {
	benchmarkBegin(b, &semel.Options{Secrets: newFirst()})
}

func benchmarkBegin(b *testing.B, opts *semel.Options) {
	b.Helper()
	store := memstore.New(&memstore.Options{MaxRecords: 100_000_000, MaxBytes: 1 << 40})
	g, err := semel.New(store, opts)
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	outcome := make([]byte, 200)
	round := 0
	b.Run("ClaimFresh", func(b *testing.B) {
		round++
		names := make([]string, b.N)
		for i := range names {
			names[i] = fmt.Sprintf("%d-%d", round, i)
		}
		b.ReportAllocs()
		b.ResetTimer()
		for i := range b.N {
			claim, _, err := g.Begin(b.Context(), testKey(names[i]), testFingerprint())
			if err != nil {
				b.Fatal(err)
			}
			if err := claim.Complete(outcome, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Replay", func(b *testing.B) {
		round++
		key := testKey(fmt.Sprint("replay ", round))
		claim, _, err := g.Begin(b.Context(), key, testFingerprint())
		if err != nil {
			b.Fatal(err)
		}
		if err := claim.Complete(outcome, nil); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			if _, rec, err := g.Begin(b.Context(), key, testFingerprint()); rec == nil || err != nil {
				b.Fatal(err)
			}
		}
	})
}
