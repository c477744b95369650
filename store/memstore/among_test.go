package memstore_test

import (
	"fmt"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
)

// BenchmarkClaimFreshAmong shows what a fresh claim, and its release, cost
// among few and many live records.
func BenchmarkClaimFreshAmong(b *testing.B) {
	for _, live := range []int{1_000, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(live), func(b *testing.B) {
			s := memstore.New(&memstore.Options{MaxRecords: 2_000_000})
			for i := range live {
				if _, _, err := s.Claim(b.Context(), params(fmt.Sprint(i))); err != nil {
					b.Fatal(err)
				}
			}
			fresh := make([]semel.ClaimParams, 4096)
			for i := range fresh {
				fresh[i] = params(fmt.Sprint("fresh ", i))
			}
			released := semel.Settlement{State: semel.StateReleased}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				rec, _, err := s.Claim(b.Context(), fresh[i%len(fresh)])
				if err == nil {
					err = s.Settle(b.Context(), rec.Digest, rec.Fence, released)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
