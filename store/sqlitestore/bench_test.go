package sqlitestore_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore"
)

func openBench(b *testing.B, path string, o *sqlitestore.Options) *sqlitestore.Store {
	b.Helper()
	s := mustOpen(b, path, o)
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// load is the work of a benchmark on a store.
type load struct {
	store  *sqlitestore.Store
	prefix string
	settle bool // or only claim

	next atomic.Int64
	mu   sync.Mutex // guards took
	took []time.Duration
}

func newLoad(s *sqlitestore.Store, settle bool) *load {
	return &load{store: s, prefix: fmt.Sprintf("%x", rand.Uint64()), settle: settle}
}

// run does n fresh intents with so many goroutines and returns how long the
// claims took, sorted.
func (l *load) run(b *testing.B, n, goroutines int) []time.Duration {
	b.Helper()
	var wg sync.WaitGroup
	last := l.next.Load() + int64(n)
	for range goroutines {
		wg.Go(func() {
			var took []time.Duration
			for i := l.next.Add(1); i <= last; i = l.next.Add(1) {
				began := time.Now()
				rec, won, err := l.store.Claim(b.Context(), params(fmt.Sprintf("%s-%d", l.prefix, i)))
				took = append(took, time.Since(began))
				if err != nil || !won {
					b.Errorf("claim: won %v, error %v", won, err)
					return
				}
				if !l.settle {
					continue
				}
				done := semel.Settlement{State: semel.StateCompleted, Outcome: outcome300(), Kept: true, Retention: retention}
				if err := l.store.Settle(b.Context(), rec.Digest, rec.Fence, done); err != nil {
					b.Error(err)
					return
				}
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			l.took = append(l.took, took...)
		})
	}
	wg.Wait()
	l.next.Store(last)
	took := l.took
	l.took = nil
	slices.Sort(took)
	return took
}

func outcome300() []byte { return []byte(strings.Repeat("outcome.. ", 30)) }

// BenchmarkCycle is one claim and one settlement, each acknowledged after it
// reached the disk. The same statements, one commit each, are the yardstick;
// x-alone says how many times faster sharing commits is.
func BenchmarkCycle(b *testing.B) {
	for _, goroutines := range []int{1, 64} {
		var aloneNS float64
		for _, alone := range []bool{true, false} {
			o, name := &sqlitestore.Options{}, "shared"
			if alone {
				o, name = sqlitestore.OneCommitEach(o), "alone"
			}
			b.Run(fmt.Sprintf("goroutines=%d/commits=%s", goroutines, name), func(b *testing.B) {
				s := openBench(b, filepath.Join(b.TempDir(), "semel.db"), o)
				b.ReportAllocs()
				b.ResetTimer()
				took := newLoad(s, true).run(b, b.N, goroutines)
				b.StopTimer()
				ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
				if alone {
					aloneNS = ns
				} else if aloneNS > 0 {
					b.ReportMetric(aloneNS/ns, "x-alone")
				}
				reportQuantiles(b, took)
			})
		}
	}
}

func reportQuantiles(b *testing.B, took []time.Duration) {
	b.Helper()
	for _, q := range []int{50, 99} {
		b.ReportMetric(float64(took[len(took)*q/100].Microseconds()), fmt.Sprintf("claim-p%d-µs", q))
	}
}

// benchRecords returns the number of records of the large file. The promise is
// about 10 million, which need minutes and 6 GB; SEMEL_BENCH_RECORDS asks for
// them.
func benchRecords(b *testing.B) int {
	b.Helper()
	word := os.Getenv("SEMEL_BENCH_RECORDS")
	if word == "" {
		return 100_000
	}
	n, err := strconv.Atoi(word)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// benchFile makes a file with n completed records of 300 bytes, or takes the
// large one that an earlier run left in SEMEL_BENCH_DIR.
func benchFile(b *testing.B, n int, expiresIn time.Duration) string {
	b.Helper()
	dir := os.Getenv("SEMEL_BENCH_DIR")
	if dir == "" || n < 1_000_000 {
		dir = b.TempDir()
	}
	path := filepath.Join(dir, fmt.Sprintf("semel-%d-%v.db", n, expiresIn))
	if _, err := os.Stat(path); err == nil {
		return path
	}
	s := mustOpen(b, path, nil)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(OFF)&_pragma=cache_size(-200000)")
	if err != nil {
		b.Fatal(err)
	}
	now := time.Now().UnixMilli()
	for _, query := range []string{
		"DROP INDEX records_by_digest",
		"DROP INDEX records_by_sweep",
		fmt.Sprintf(`INSERT INTO records
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
SELECT i, randomblob(32), 'completed', 1, randomblob(16), randomblob(32), %d, %[2]d, %[2]d + 30000,
       %[2]d + %d, %[2]d + %[3]d, 1, 'user-4711 POST /invoices', '018f3a2e-7b1c-7def-8000-' || i, '', randomblob(300)
FROM n`, n, now, expiresIn.Milliseconds()),
		"CREATE UNIQUE INDEX records_by_digest ON records (digest)",
		"CREATE INDEX records_by_sweep ON records (sweep_at_ms)",
		fmt.Sprintf("UPDATE meta SET fence = %d, count = %[1]d, clock_ms = %d", n, now),
		"PRAGMA wal_checkpoint(TRUNCATE)",
	} {
		if _, err := db.ExecContext(b.Context(), query); err != nil {
			b.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

// BenchmarkClaim is the latency of a fresh claim in a file that already holds
// so many live records: it must not grow with them. x-small compares the mean
// with that of the smallest file.
func BenchmarkClaim(b *testing.B) {
	for _, goroutines := range []int{1, 64} {
		var smallNS float64
		for _, records := range []int{10_000, benchRecords(b)} {
			b.Run(fmt.Sprintf("goroutines=%d/records=%d", goroutines, records), func(b *testing.B) {
				path := benchFile(b, records, 24*time.Hour)
				s := openBench(b, path, nil)
				newLoad(s, false).run(b, 200*goroutines, goroutines) // what is hot gets into memory
				b.ResetTimer()
				took := newLoad(s, false).run(b, b.N, goroutines)
				b.StopTimer()
				ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
				if smallNS == 0 || records == 10_000 {
					smallNS = ns
				}
				b.ReportMetric(ns/smallNS, "x-small")
				b.ReportMetric(residentMiB(), "resident-MiB")
				reportQuantiles(b, took)
			})
		}
	}
}

// BenchmarkLookup reads one record of a large file.
func BenchmarkLookup(b *testing.B) {
	s := openBench(b, benchFile(b, benchRecords(b), 24*time.Hour), nil)
	page, err := s.List(b.Context(), semel.ListParams{Limit: 100})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := s.Lookup(b.Context(), page.Records[i%len(page.Records)].Digest); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkList reads the newest hundred records of a large file.
func BenchmarkList(b *testing.B) {
	s := openBench(b, benchFile(b, benchRecords(b), 24*time.Hour), nil)
	for b.Loop() {
		if page, err := s.List(b.Context(), semel.ListParams{Limit: 100}); err != nil || len(page.Records) != 100 {
			b.Fatalf("got %d records, error %v", len(page.Records), err)
		}
	}
}

// BenchmarkCycleBesideSweep is BenchmarkCycle with 64 goroutines while a file
// full of expired records is swept.
func BenchmarkCycleBesideSweep(b *testing.B) {
	path := filepath.Join(b.TempDir(), "semel.db")
	content, err := os.ReadFile(benchFile(b, 100_000, time.Millisecond))
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		b.Fatal(err)
	}
	s := openBench(b, path, nil)
	var swept atomic.Int64
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
			}
			n, err := s.Sweep(b.Context(), 1000)
			swept.Add(int64(n))
			if err != nil || n < 1000 {
				return
			}
		}
	}()
	b.ResetTimer()
	took := newLoad(s, true).run(b, b.N, 64)
	b.StopTimer()
	close(stop)
	<-ended
	b.ReportMetric(float64(swept.Load())/b.Elapsed().Seconds(), "swept/s")
	reportQuantiles(b, took)
}

// residentMiB is this process's resident memory; 0 where it cannot be told.
func residentMiB() float64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident float64
	if _, err := fmt.Sscan(string(statm), &size, &resident); err != nil {
		return 0
	}
	return resident * float64(os.Getpagesize()) / (1 << 20)
}
