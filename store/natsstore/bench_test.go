package natsstore_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/groupcommit"
	"github.com/semel-dev/semel/store/natsstore"
)

// BenchmarkAgainstPublishes compares a claim and its settlement, alone and in shared
// batches, with the two bare publishes that anything durable needs, on the same server. A
// round does all of it in turn; the medians of the rounds are reported, the times of one
// cycle in µs and the ratios of publishes to Semel: 1 is as fast.
func BenchmarkAgainstPublishes(b *testing.B) {
	p := start(b)
	js, _ := connect(b, p.addr)
	_, err := js.CreateStream(b.Context(), natsstore.StreamConfig("BARE", "bare"))
	claimtest.NoError(b, err)
	s, err := natsstore.Open(b.Context(), p.dsn(), nil)
	claimtest.NoError(b, err)
	g, err := groupcommit.New(s, nil)
	claimtest.NoError(b, err)
	claimtest.Closes(b, g)
	var minted atomic.Uint64
	ways := []func() error{
		func() error { return twoPublishes(b, js, minted.Add(1)) },
		func() error { return claimAndSettle(b, s, minted.Add(1)) },
		func() error { return claimAndSettle(b, g, minted.Add(1)) },
	}
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprint("callers=", callers), func(b *testing.B) {
			took, ratios := make([][]float64, len(ways)), make([][]float64, len(ways))
			for b.Loop() {
				for i, way := range ways {
					took[i] = append(took[i], round(b, callers, way))
					n := len(took[i]) - 1
					ratios[i] = append(ratios[i], took[0][n]/took[i][n])
				}
			}
			for i, name := range []string{"publishes", "semel", "batches"} {
				b.ReportMetric(median(took[i]), name+"-µs")
				b.ReportMetric(median(ratios[i]), name+"-ratio")
			}
		})
	}
}

// round has callers do something side by side, and returns the µs that each took of the
// whole.
func round(b *testing.B, callers int, do func() error) float64 {
	b.Helper()
	const each = 20
	var all sync.WaitGroup
	begun := time.Now()
	for range callers {
		all.Go(func() {
			for range each {
				if err := do(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return float64(time.Since(begun).Microseconds()) / float64(callers*each)
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// twoPublishes are a message for a claim and one for its answer.
func twoPublishes(b *testing.B, js jetstream.JetStream, n uint64) error {
	b.Helper()
	subject := fmt.Sprintf("bare.%064x", n)
	if _, err := js.Publish(b.Context(), subject, make([]byte, 200)); err != nil {
		return err
	}
	_, err := js.Publish(b.Context(), subject, make([]byte, 500))
	return err
}

func claimAndSettle(b *testing.B, s semel.Store, n uint64) error {
	b.Helper()
	p := claimtest.Params("0b9e2c1e-7f39-7c58-9a3e-0d6f5f4e7a10")
	binary.BigEndian.PutUint64(p.Digest[:], n)
	rec, won, err := s.Claim(b.Context(), p)
	if err != nil || !won {
		return fmt.Errorf("won %v: %w", won, err)
	}
	return s.Settle(b.Context(), p.Digest, rec.Fence, claimtest.Completed(string(make([]byte, 300))))
}
