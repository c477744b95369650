package sqlitestore_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore"
)

func openBench(b *testing.B, path string, o *sqlitestore.Options) *sqlitestore.Store {
	b.Helper()
	s, err := sqlitestore.Open(b.Context(), path, o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// cycles claims and settles n fresh intents with so many goroutines.
func cycles(b *testing.B, s *sqlitestore.Store, prefix string, n, goroutines int) {
	b.Helper()
	outcome := make([]byte, 300)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for {
				i := next.Add(1)
				if i > int64(n) {
					return
				}
				p := params(fmt.Sprintf("%s-%d", prefix, i))
				rec, won, err := s.Claim(b.Context(), p)
				if err != nil || !won {
					b.Errorf("claim: won %v, error %v", won, err)
					return
				}
				done := semel.Settlement{State: semel.StateCompleted, Outcome: outcome, Kept: true, Retention: retention}
				if err := s.Settle(b.Context(), p.Digest, rec.Fence, done); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkCycle(b *testing.B) {
	for _, goroutines := range []int{1, 64} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			for _, alone := range []bool{true, false} {
				o := &sqlitestore.Options{}
				name := "shared"
				if alone {
					o, name = sqlitestore.OneCommitEach(o), "alone"
				}
				b.Run(name, func(b *testing.B) {
					s := openBench(b, filepath.Join(b.TempDir(), "x.db"), o)
					b.ResetTimer()
					cycles(b, s, "k", b.N, goroutines)
				})
			}
		})
	}
}
