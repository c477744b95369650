package semel_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/verdict"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/memstore"
)

// alice settles records by hand.
var alice = operator.Identity{Name: "alice", Via: "semel records"}

// TestAudit shows that every verdict leaves an entry that says who, what and why.
func TestAudit(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), nil)
	mustSucceed(t, mustClaim(t, g, testKey("a")).Unknown("upstream reset"))
	lost := mustLookup(t, g, testKey("a"))
	resolved, err := operate(g).Resolve(t.Context(), alice, lost.Digest, lost.Fence, semel.Settlement{State: semel.StateCompleted, Outcome: []byte("17"), Kept: true, Note: "in the ledger"})
	mustSucceed(t, err)
	cancelled, err := operate(g).Cancel(t.Context(), operator.Identity{Name: "bob"}, testKey("b"), 0, "the customer called")
	mustSucceed(t, err)
	page, err := operate(g).Audit(t.Context(), operator.AuditParams{})
	mustSucceed(t, err)
	entries := page.Entries
	for i := range entries {
		if entries[i].At.IsZero() || entries[i].Position == 0 {
			t.Errorf("entry %d has no time or position: %+v", i, entries[i])
		}
		entries[i].At, entries[i].Position = time.Time{}, 0
	}
	want := []operator.Entry{{
		Operator: operator.Identity{Name: "bob"}, Act: "cancel", Reason: "the customer called", Digest: g.Digest(testKey("b")),
		Scope: testKey("b").Scope, Name: "b", As: semel.StateCancelled, Fence: cancelled.Fence,
	}, {
		Operator: alice, Act: "resolve", Reason: "in the ledger", Digest: g.Digest(testKey("a")),
		Scope: testKey("a").Scope, Name: "a", Before: semel.StateUnknown, As: semel.StateCompleted, Fence: resolved.Fence,
	}}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Errorf("the trail is not as it happened (-want +got):\n%s", diff)
	}
}

// TestAuditPages shows that the cursor neither misses nor repeats an entry.
func TestAuditPages(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), nil)
	for i := range 5 {
		if _, err := operate(g).Cancel(t.Context(), alice, testKey(fmt.Sprint(i)), 0, "not wanted"); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for p := (operator.AuditParams{Limit: 2}); ; {
		page, err := operate(g).Audit(t.Context(), p)
		mustSucceed(t, err)
		for i := range page.Entries {
			names = append(names, page.Entries[i].Name)
		}
		if p.After = page.Next; p.After == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"4", "3", "2", "1", "0"}, names); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

// TestNoVerdictWithoutAnEntry breaks the store while the entry is written: the
// record must stay unknown, with what was known of it.
func TestNoVerdictWithoutAnEntry(t *testing.T) {
	t.Parallel()
	store := newHooked()
	g := newGuard(t, store, nil)
	mustSucceed(t, mustClaim(t, g, testKey("a")).Unknown("upstream reset"))
	before := store.count("claim")
	store.set(store.before, "claim", func() error {
		if store.count("claim") == before+2 { // the first takes the record over
			return errBroken
		}
		return nil
	})
	lost := mustLookup(t, g, testKey("a"))
	_, err := operate(g).Resolve(t.Context(), alice, lost.Digest, lost.Fence, semel.Settlement{State: semel.StateReleased, Note: "not there"})
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "nothing was changed") {
		t.Fatalf("resolve without an entry: got %v", err)
	}
	if e := mustRefuse(t, g, testKey("a"), semel.ErrUnknown); e.Record == nil || e.Record.Note != "upstream reset" {
		t.Errorf("the record has become %+v", e.Record)
	}
	if _, err := operate(g).Cancel(t.Context(), alice, testKey("b"), 0, "not wanted"); err != nil {
		t.Errorf("cancel once the store is well again: %v", err)
	}
}

func TestOperatorIsChecked(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), nil)
	for name, tt := range map[string]struct {
		by     operator.Identity
		reason string
	}{
		"nobody":        {operator.Identity{Name: " "}, "because"},
		"no reason":     {alice, " "},
		"long name":     {operator.Identity{Name: strings.Repeat("a", operator.MaxIdentityBytes+1)}, "because"},
		"long reason":   {alice, strings.Repeat("b", semel.MaxNoteBytes+1)},
		"line break":    {operator.Identity{Name: "alice\nbob"}, "because"},
		"escape":        {alice, "\x1b[2J"},
		"not UTF-8 via": {operator.Identity{Name: "alice", Via: "\xff"}, "because"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := operate(g).Cancel(t.Context(), tt.by, testKey(name), 0, tt.reason); !errors.Is(err, operator.ErrVerdict) {
				t.Errorf("cancel: got %v, want ErrOperator", err)
			}
			if _, err := operate(g).Resolve(t.Context(), tt.by, g.Digest(testKey(name)), 1, semel.Settlement{State: semel.StateCancelled, Note: tt.reason}); !errors.Is(err, operator.ErrVerdict) {
				t.Errorf("resolve: got %v, want ErrOperator", err)
			}
		})
	}
}

// TestAuditScopeIsReserved: no key lets a caller write into the trail.
func TestAuditScopeIsReserved(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), nil)
	mustRefuse(t, g, semel.Key{Scope: verdict.AuditScope, Name: "forged"}, semel.ErrKeyInvalid)
}

// TestUnfinishedEntryIsNobodys: what the writer of an entry left behind when it
// crashed cannot be settled into an entry that its author chose.
func TestUnfinishedEntryIsNobodys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		g := newGuard(t, store, nil)
		d := semel.Key{Scope: verdict.AuditScope, Name: "resolve 1"}.Digest()
		rec, won, err := store.Claim(t.Context(), semel.ClaimParams{
			Digest: d, Scope: verdict.AuditScope, Name: "resolve 1", Owner: semel.Owner{1}, Lease: time.Second, Retention: time.Hour,
		})
		if err != nil || !won {
			t.Fatal(won, err)
		}
		time.Sleep(time.Minute)
		forged := semel.Settlement{State: semel.StateCompleted, Outcome: []byte(`{"operator":"bob"}`), Kept: true, Note: "because"}
		if _, err := operate(g).Resolve(t.Context(), alice, d, rec.Fence, forged); !errors.Is(err, semel.ErrNotFound) {
			t.Errorf("resolve: got %v, want ErrNotFound", err)
		}
		if page, err := operate(g).Audit(t.Context(), operator.AuditParams{}); err != nil || len(page.Entries) != 0 {
			t.Errorf("the trail has %+v, %v", page.Entries, err)
		}
	})
}
