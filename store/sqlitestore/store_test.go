package sqlitestore_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore"
	"github.com/semel-dev/semel/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, instance)
}

func TestStoreUnderFaults(t *testing.T) {
	t.Parallel()
	storetest.RunFaults(t, instance)
}

func BenchmarkStore(b *testing.B) { storetest.Benchmark(b, instance) }

// hands is a clock that moves only when told.
type hands struct {
	mu  sync.Mutex // guards now
	now time.Time
}

func newHands() *hands {
	return &hands{now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}
}

func (h *hands) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hands) Advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// instance is the harness: a fresh file, and a look into it after every rule.
func instance(tb testing.TB) *storetest.Instance {
	tb.Helper()
	clock := newHands()
	o := &sqlitestore.Options{Now: clock.Now}
	path := filepath.Join(tb.TempDir(), "semel.db")
	s := mustOpen(tb, path, o)
	return &storetest.Instance{
		Store:   s,
		Advance: clock.Advance,
		Check:   func(tb testing.TB) { tb.Helper(); check(tb, path) },
		Reopen: func(tb testing.TB) semel.Store {
			tb.Helper()
			if err := s.Close(); err != nil {
				tb.Fatal(err)
			}
			s = mustOpen(tb, path, o)
			return s
		},
	}
}

func mustOpen(tb testing.TB, path string, o *sqlitestore.Options) *sqlitestore.Store {
	tb.Helper()
	s, err := sqlitestore.Open(tb.Context(), path, o)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// check looks into the file as another process would.
func check(tb testing.TB, path string) {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context())
	s, err := sqlitestore.Open(ctx, path, &sqlitestore.Options{ReadOnly: true})
	if err != nil {
		tb.Fatal(err)
	}
	if err := s.Check(ctx); err != nil {
		tb.Error(err)
	}
	if err := s.Close(); err != nil {
		tb.Error(err)
	}
}
