package semel_test

import (
	"fmt"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
)

// BenchmarkBegin measures what the guard adds around work that costs nothing:
// a fresh claim with its settlement, and a replay.
func BenchmarkBegin(b *testing.B) {
	store := memstore.New(&memstore.Options{MaxRecords: 100_000_000, MaxBytes: 1 << 40})
	g, err := semel.New(store, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	outcome := make([]byte, 200)
	b.Run("ClaimFresh", func(b *testing.B) {
		names := make([]string, b.N)
		for i := range names {
			names[i] = fmt.Sprintf("%d-%d", b.N, i)
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
		key := testKey(fmt.Sprint("replay ", b.N))
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
