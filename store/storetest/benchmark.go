package storetest

import (
	"bytes"
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
)

const (
	benchmarkOutcome = 300 // bytes
	// benchmarkLive is about the number of live records in a benchmark. It moves
	// the clock a little every benchmarkStep claims, so that it measures expiry as
	// well.
	benchmarkLive = 1 << 16
	benchmarkStep = benchmarkLive / 64
)

// Benchmark measures the verbs by purpose: ClaimFresh, Replay, Contended (many
// claim one live intent), and Cycle (claim and settle), the last also by 64
// goroutines at once.
func Benchmark(b *testing.B, h Harness) {
	b.Helper()
	b.Run("ClaimFresh", func(b *testing.B) { open(b, h).claimFresh(b) })
	b.Run("Replay", func(b *testing.B) { open(b, h).replay(b) })
	b.Run("Contended", func(b *testing.B) { open(b, h).contended(b) })
	b.Run("Cycle", func(b *testing.B) { open(b, h).cycle(b) })
	b.Run("Cycle64", func(b *testing.B) { open(b, h).cycle64(b) })
}

// bench is one store being measured.
type bench struct {
	*Instance

	minted atomic.Uint64
}

func open(b *testing.B, h Harness) *bench {
	b.Helper()
	inst := h(b)
	b.Cleanup(func() {
		if err := inst.Store.Close(); err != nil {
			b.Error(err)
		}
	})
	b.ReportAllocs()
	return &bench{Instance: inst}
}

// fresh are the parameters of a new intent.
func (m *bench) fresh() semel.ClaimParams {
	n := m.minted.Add(1)
	if n%benchmarkStep == 0 {
		m.Advance(retention / 64)
	}
	p := semel.ClaimParams{
		Scope: scope, Name: "0b9e2c1e-7f39-7c58-9a3e-0d6f5f4e7a10",
		Owner: semel.Owner{1}, Lease: time.Minute, Retention: retention,
	}
	// Spread like a SHA-256 sum, without its cost.
	for i := 0; i < len(p.Digest); i += 8 {
		binary.LittleEndian.PutUint64(p.Digest[i:], (n+uint64(i))*0x9E3779B97F4A7C15)
	}
	return p
}

func (m *bench) settlement() semel.Settlement {
	return semel.Settlement{
		State: semel.StateCompleted, Outcome: bytes.Repeat([]byte{'x'}, benchmarkOutcome), Kept: true, Retention: retention,
	}
}

func (m *bench) claimFresh(b *testing.B) {
	b.Helper()
	for b.Loop() {
		if _, won, err := m.Store.Claim(b.Context(), m.fresh()); err != nil || !won {
			b.Fatalf("Claim of an absent intent: won %v, error %v", won, err)
		}
	}
}

func (m *bench) replay(b *testing.B) {
	b.Helper()
	p := m.fresh()
	rec, _, err := m.Store.Claim(b.Context(), p)
	noError(b, err)
	noError(b, m.Store.Settle(b.Context(), p.Digest, rec.Fence, m.settlement()))
	for b.Loop() {
		if rec, won, err := m.Store.Claim(b.Context(), p); err != nil || won || len(rec.Outcome) != benchmarkOutcome {
			b.Fatalf("Claim of a completed intent: won %v, error %v", won, err)
		}
	}
}

func (m *bench) contended(b *testing.B) {
	b.Helper()
	p := m.fresh()
	if _, _, err := m.Store.Claim(b.Context(), p); err != nil {
		b.Fatal(err)
	}
	p.Owner = semel.Owner{2}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, won, err := m.Store.Claim(b.Context(), p); err != nil || won {
				b.Errorf("Claim of a live intent: won %v, error %v", won, err)
				return
			}
		}
	})
}

func (m *bench) cycle(b *testing.B) {
	b.Helper()
	to := m.settlement()
	for b.Loop() {
		m.once(b, to)
	}
}

func (m *bench) cycle64(b *testing.B) {
	b.Helper()
	to := m.settlement()
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.once(b, to)
		}
	})
}

// once claims and settles one intent.
func (m *bench) once(b *testing.B, to semel.Settlement) {
	b.Helper()
	p := m.fresh()
	p.Lease = 100 * retention // the clock may move far while a goroutine waits for its turn
	rec, won, err := m.Store.Claim(b.Context(), p)
	if err != nil || !won {
		b.Errorf("Claim of an absent intent: won %v, error %v", won, err)
		return
	}
	if err := m.Store.Settle(b.Context(), rec.Digest, rec.Fence, to); err != nil {
		b.Errorf("Settle: %v", err)
	}
}
