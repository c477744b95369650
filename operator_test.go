package semel_test

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/memstore"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		as   semel.Settlement
		want error
	}{
		"completed": {as: semel.Settlement{State: semel.StateCompleted, Outcome: []byte("found it"), Kept: true}},
		"no answer": {as: semel.Settlement{State: semel.StateCompleted}, want: semel.ErrNotKept},
		"cancelled": {as: semel.Settlement{State: semel.StateCancelled}, want: semel.ErrCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuard(t, memstore.New(nil), nil)
			stale := mustClaim(t, g, testKey("a"))
			mustSucceed(t, stale.Unknown("upstream reset"))
			tt.as.Note = "looked it up"
			rec, err := operate(g).Resolve(t.Context(), alice, stale.Digest(), stale.Fence(), tt.as)
			if err != nil || rec.State != tt.as.State || rec.Note != "looked it up" || rec.Fence <= stale.Fence() {
				t.Fatalf("resolve: got %+v, %v", rec, err)
			}
			if tt.want == nil {
				mustReplay(t, g, testKey("a"), "found it")
			} else {
				mustRefuse(t, g, testKey("a"), tt.want)
			}
			if _, err := operate(g).Resolve(t.Context(), alice, rec.Digest, rec.Fence, tt.as); !errors.Is(err, semel.ErrSettled) {
				t.Errorf("resolving again: got %v, want ErrSettled", err)
			}
		})
	}
}

func TestResolveReleases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(nil)
		crash(t, store, testKey("a"))
		g := newGuard(t, store, nil)
		d, seen := g.Digest(testKey("a")), mustLookup(t, g, testKey("a")).Fence
		release := semel.Settlement{State: semel.StateReleased, Note: "not in the ledger"}
		if _, err := operate(g).Resolve(t.Context(), alice, d, seen, release); !errors.Is(err, semel.ErrInFlight) {
			t.Errorf("a live claim was resolved: %v", err)
		}
		time.Sleep(semel.DefaultLease)
		if rec, err := operate(g).Resolve(t.Context(), alice, d, seen, release); err != nil || rec.State != semel.StateReleased {
			t.Fatalf("resolve: got %+v, %v", rec, err)
		}
		if _, err := operate(g).Resolve(t.Context(), alice, d, seen, release); !errors.Is(err, semel.ErrNotFound) {
			t.Errorf("an absent record was resolved: %v", err)
		}
		mustSucceed(t, mustClaim(t, g, testKey("a")).Release(""))
	})
}

// A long note is cut between two characters.
func TestLongNote(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), nil)
	mustSucceed(t, mustClaim(t, g, testKey("a")).Unknown(strings.Repeat("é", semel.MaxNoteBytes)))
	note := mustLookup(t, g, testKey("a")).Note
	if len(note) > semel.MaxNoteBytes || !utf8.ValidString(note) || !strings.HasSuffix(note, "…") {
		t.Errorf("the note was cut to %q", note)
	}
}

// A tombstone stops a late original, whatever it asks for.
func TestCancel(t *testing.T) {
	t.Parallel()
	g := newGuard(t, memstore.New(nil), nil)
	for range 2 { // the second is a no-op
		rec, err := operate(g).Cancel(t.Context(), alice, testKey("a"), 0, "not wanted")
		if err != nil || rec.State != semel.StateCancelled || rec.Note != "not wanted" {
			t.Fatalf("cancel: got %+v, %v", rec, err)
		}
	}
	mustRefuse(t, g, testKey("a"), semel.ErrCancelled)

	claim := mustClaim(t, g, testKey("b"))
	if _, err := operate(g).Cancel(t.Context(), alice, testKey("b"), 0, "a mistake"); !errors.Is(err, semel.ErrInFlight) {
		t.Errorf("cancelling a running intent: got %v, want ErrInFlight", err)
	}
	mustSucceed(t, claim.Complete([]byte("one"), nil))
	if _, err := operate(g).Cancel(t.Context(), alice, testKey("b"), 0, "a mistake"); !errors.Is(err, semel.ErrSettled) {
		t.Errorf("cancelling a completed intent: got %v, want ErrSettled", err)
	}
	mustReplay(t, g, testKey("b"), "one")
}

// An attempt that arrives while an operator cancels gets ErrInFlight or ErrCancelled, not a mismatch.
func TestCancelWhileItArrives(t *testing.T) {
	t.Parallel()
	store := newHooked()
	g := newGuard(t, store, &semel.Options{Policy: semel.Policy{Wait: time.Minute}})
	reached, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	store.set(store.before, "settle", func() error {
		once.Do(func() {
			close(reached)
			<-goOn
		})
		return nil
	})
	cancelled := make(chan error, 1)
	go func() {
		_, err := operate(g).Cancel(t.Context(), alice, testKey("a"), 0, "not wanted")
		cancelled <- err
	}()
	<-reached // the claim is there, and no attempt asked for it
	refused := make(chan error, 1)
	go func() {
		_, _, err := g.Begin(t.Context(), testKey("a"), testFingerprint())
		refused <- err
	}()
	for g.Waiting() == 0 {
		runtime.Gosched()
	}
	close(goOn)
	mustSucceed(t, <-cancelled)
	if err := <-refused; !errors.Is(err, semel.ErrCancelled) {
		t.Errorf("got %v, want ErrCancelled", err)
	}
}
