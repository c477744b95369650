package semel_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
)

func TestTraceTellsWhatHappens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards the fields below
		var got []string
		swept := 0
		saw := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, what)
		}
		g := newGuard(t, memstore.New(nil), &semel.Options{
			Policy: semel.Policy{Wait: semel.NoWait, Retention: time.Hour},
			Trace: &semel.Trace{
				Began:   func(_ context.Context, i semel.BeginInfo) { saw("began " + string(i.Outcome)) },
				Settled: func(_ context.Context, i semel.SettleInfo) { saw("settled " + i.State.String()) },
				Renewed: func(context.Context, semel.RenewInfo) { saw("renewed") },
				Swept: func(_ context.Context, i semel.SweepInfo) {
					mu.Lock()
					defer mu.Unlock()
					swept += i.Removed
				},
			},
		})
		claim := mustClaim(t, g, testKey("a"))
		mustRefuse(t, g, testKey("a"), semel.ErrInFlight)
		time.Sleep(semel.DefaultLease / 3)
		synctest.Wait()
		mustSucceed(t, claim.Complete([]byte("one"), nil))
		mustReplay(t, g, testKey("a"), "one")
		if _, _, err := g.Begin(t.Context(), testKey("a"), semel.Fingerprint{}); !errors.Is(err, semel.ErrMismatch) {
			t.Fatal(err)
		}
		mustRefuse(t, g, semel.Key{}, semel.ErrScopeMissing)
		want := []string{
			"began claimed", "began in-flight", "renewed", "settled completed",
			"began replayed", "began mismatch", "began key-invalid",
		}
		mu.Lock()
		diff := cmp.Diff(want, got)
		mu.Unlock()
		if diff != "" {
			t.Errorf("want - got +\n%s", diff)
		}
		time.Sleep(time.Hour + 10*time.Second)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if swept != 1 {
			t.Errorf("swept %d records, want the expired one", swept)
		}
	})
}

// TestTraceNamesTheFence: every result but a first mismatch names the claim it
// is about.
func TestTraceNamesTheFence(t *testing.T) {
	t.Parallel()
	var infos []semel.BeginInfo
	g := newGuard(t, memstore.New(nil), &semel.Options{
		Policy: semel.Policy{Wait: semel.NoWait},
		Trace:  &semel.Trace{Began: func(_ context.Context, i semel.BeginInfo) { infos = append(infos, i) }},
	})
	claim := mustClaim(t, g, testKey("a"))
	mustRefuse(t, g, testKey("a"), semel.ErrInFlight)
	mustSucceed(t, claim.Complete([]byte("one"), nil))
	mustReplay(t, g, testKey("a"), "one")
	for _, info := range infos {
		if info.Fence != claim.Fence() || info.Attempt != 1 {
			t.Errorf("%s: got fence %d of attempt %d, want %d of 1", info.Outcome, info.Fence, info.Attempt, claim.Fence())
		}
	}
}
