package storerace_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/storerace"
	"github.com/semel-dev/semel/store/memstore"
	"github.com/semel-dev/semel/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// session is one of several open doors to the same store.
type session struct{ semel.Store }

func (session) Close() error { return nil }

func sessions(store semel.Store) func() (semel.Store, error) {
	return func() (semel.Store, error) { return session{store}, nil }
}

func TestRunFindsNothingInAGoodStore(t *testing.T) {
	t.Parallel()
	store := memstore.New(nil)
	report, err := storerace.Run(t.Context(), sessions(store), nil)
	if err != nil || len(report.Violations) != 0 {
		t.Fatalf("got violations %q, error %v, want none", report.Violations, err)
	}
	// 64 keys: 8 claims at once, 1 win; then 4 waiters, 4 wins.
	if report.Stores != 4 || report.Keys != 64 || report.Wins != 64+4*64 || report.Claims < 8*64+4*64 {
		t.Errorf("got %+v, want 4 stores, 64 keys, 320 wins, at least 768 claims", report)
	}
	if n, err := store.Count(t.Context()); n != 0 || err != nil {
		t.Errorf("%d records are left, error %v, want none", n, err)
	}
}

func TestRunRepeatsWhatIsNotDefinite(t *testing.T) {
	t.Parallel()
	store := storetest.Break(memstore.New(nil), storetest.Faults{FailBefore: 0.2, FailAfter: 0.2, Seed: 1})
	report, err := storerace.Run(t.Context(), sessions(store), &storerace.Options{Keys: 8})
	if err != nil || len(report.Violations) != 0 || report.Wins != 8+8*4 {
		t.Fatalf("got %+v, error %v, want 40 wins and no violation", report, err)
	}
	if report.Repeats == 0 {
		t.Error("no verb was repeated, although many failed")
	}
}

// broken gives claims away as its bug says.
type broken struct {
	session

	bug  string
	meet chan struct{} // bug "two winners": both look before one leaves

	mu     sync.Mutex // guards the fields below
	fences map[semel.Digest]semel.Fence
}

func (b *broken) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	rec, won, err := b.session.Claim(ctx, p)
	if err != nil {
		return rec, won, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch b.bug {
	case "two winners":
		rec.Owner = p.Owner
		return rec, true, nil
	case "fence of each key":
		if won {
			b.fences[p.Digest]++
			rec.Fence = b.fences[p.Digest]
		}
	case "falling fences":
		rec.Fence = 1<<62 - rec.Fence
	case "stale answers":
		if !won {
			rec.Fence--
		}
	}
	return rec, won, nil
}

func (b *broken) Settle(ctx context.Context, d semel.Digest, _ semel.Fence, to semel.Settlement) error {
	rec, err := b.session.Lookup(ctx, d)
	if err != nil {
		return nil //nolint:nilerr // absent: released already.
	}
	return b.session.Settle(ctx, d, rec.Fence, to)
}

func (b *broken) Lookup(ctx context.Context, d semel.Digest) (semel.Record, error) {
	rec, err := b.session.Lookup(ctx, d)
	switch b.bug {
	case "two winners":
		patience := time.NewTimer(5 * time.Second)
		defer patience.Stop()
		select {
		case b.meet <- struct{}{}:
		case <-b.meet:
		case <-patience.C:
		}
	case "stale reads":
		rec.Fence--
	case "falling fences":
		rec.Fence = 1<<62 - rec.Fence
	}
	return rec, err
}

func TestRunFindsWhatIsBroken(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		bug  string
		keys int
		want string
	}{
		{"two winners", 1, "8 of 8 claimers won at once, want exactly 1"},
		{"two winners", 1, "2 holders at the same time"},
		{"fence of each key", 4, "fence 1 was given twice"},
		{"falling fences", 4, "want a greater one"},
		{"stale answers", 4, "were shown different holders"},
		{"stale reads", 4, "another store sees fence"},
	} {
		t.Run(test.bug+": "+test.want, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			store := &broken{session: session{memstore.New(nil)}, bug: test.bug, meet: make(chan struct{}), fences: map[semel.Digest]semel.Fence{}}
			report, err := storerace.Run(ctx, sessions(store), &storerace.Options{Keys: test.keys, Waiters: 2})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(report.Violations, "\n"); !strings.Contains(got, test.want) {
				t.Errorf("got violations\n%s\nwant %q", got, test.want)
			}
		})
	}
}

func TestRunSaysWhyItStopped(t *testing.T) {
	t.Parallel()
	refused := errors.New("connection refused")
	opened := 0
	report, err := storerace.Run(t.Context(), func() (semel.Store, error) {
		if opened++; opened == 3 {
			return nil, refused
		}
		return memstore.New(nil), nil
	}, nil)
	if !errors.Is(err, refused) || report.Stores != 2 || !strings.Contains(fmt.Sprint(err), "open store 3 of 4") {
		t.Errorf("got %d stores, error %v, want 2 stores and %v", report.Stores, err, refused)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := storerace.Run(ctx, sessions(memstore.New(nil)), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
