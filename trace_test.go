package semel_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/outcomelog"
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

// TestTraceNotes: what completes keeps the note of its trace, cut to its bound; what ends otherwise, or has a note, does not.
func TestTraceNotes(t *testing.T) {
	t.Parallel()
	var replayed []string
	type traced struct{}
	store := memstore.New(nil)
	g := newGuard(t, store, &semel.Options{Trace: &semel.Trace{
		Note: func(ctx context.Context) string { note, _ := ctx.Value(traced{}).(string); return note },
		Began: func(_ context.Context, i semel.BeginInfo) {
			if i.Outcome == outcomelog.Replayed {
				replayed = append(replayed, i.Note)
			}
		},
	}})
	ctx := context.WithValue(t.Context(), traced{}, "trace 1")
	for key, c := range map[string]struct {
		ctx    context.Context //nolint:containedctx // a row of a table.
		settle func(*semel.Claim) error
		want   string
	}{
		"completed": {ctx, func(c *semel.Claim) error { return c.Complete([]byte("one"), nil) }, "trace 1"},
		"not kept":  {ctx, func(c *semel.Claim) error { return c.CompleteWithout(nil) }, "trace 1"},
		"unknown":   {ctx, func(c *semel.Claim) error { return c.Unknown("why") }, "why"},
		"cancelled": {ctx, func(c *semel.Claim) error { return c.Cancel("") }, ""},
		"no trace":  {t.Context(), func(c *semel.Claim) error { return c.Complete(nil, nil) }, ""},
		"too long": {
			context.WithValue(ctx, traced{}, strings.Repeat("n", 300)), func(c *semel.Claim) error { return c.Complete(nil, nil) },
			strings.Repeat("n", semel.MaxNoteBytes-len("…")) + "…",
		},
	} {
		claim, _, err := g.Begin(c.ctx, testKey(key), testFingerprint())
		mustSucceed(t, err)
		mustSucceed(t, c.settle(claim))
		rec, err := g.Lookup(t.Context(), testKey(key))
		mustSucceed(t, err)
		if rec.Note != c.want {
			t.Errorf("%s: got the note %q, want %q", key, rec.Note, c.want)
		}
	}
	mustReplay(t, g, testKey("completed"), "one")
	if diff := cmp.Diff([]string{"trace 1"}, replayed); diff != "" {
		t.Errorf("the replay: want - got +\n%s", diff)
	}
	lost, err := g.Lookup(t.Context(), testKey("unknown"))
	mustSucceed(t, err)
	found, err := operate(g).Resolve(ctx, alice, lost.Digest, lost.Fence, semel.Settlement{State: semel.StateCompleted, Note: "found invoice 77"})
	if err != nil || found.Note != "found invoice 77" {
		t.Errorf("a verdict: got the note %q, %v, want its reason", found.Note, err)
	}
	db := memdb.New(memstore.New(nil), nil)
	g = newGuard(t, db, &semel.Options{Trace: &semel.Trace{Note: func(context.Context) string { return "trace 2" }}})
	claim, _, err := g.BeginTx(t.Context(), db, testKey("a"), semel.Fingerprint{})
	mustSucceed(t, err)
	mustSucceed(t, claim.Complete([]byte("one"), nil))
	if rec, err := g.Lookup(t.Context(), testKey("a")); err != nil || rec.Note != "trace 2" {
		t.Errorf("in a transaction: got the note %q, %v", rec.Note, err)
	}
}
