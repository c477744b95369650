package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/pgstore"
)

// Promise 1: the key that another caller took while the work ran, by a claim without
// a transaction or by hand, is theirs; nothing of the work is committed.
func TestTxOvertaken(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(t *testing.T, s *shop){
		"claimed": func(t *testing.T, s *shop) {
			t.Helper()
			p := params("k")
			p.Digest, p.Fingerprint = s.guard.Digest(orderKey("k")), semel.Fingerprint{1}
			wins(t, s.store, p)
		},
		"cancelled": func(t *testing.T, s *shop) {
			t.Helper()
			if _, err := must.Get(operator.New(s.guard, nil)).Cancel(t.Context(), operator.Identity{Name: "alice"}, orderKey("k"), 0, "a mistake"); err != nil {
				t.Error(err)
			}
		},
		"released meanwhile": func(t *testing.T, s *shop) {
			t.Helper()
			p := params("k")
			p.Digest, p.Fingerprint = s.guard.Digest(orderKey("k")), semel.Fingerprint{1}
			settles(t, s.store, wins(t, s.store, p), semel.Settlement{State: semel.StateReleased})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, &semel.Options{Policy: semel.Policy{Wait: semel.NoWait}})
			ran := 0
			_, err := pgstore.Do(t.Context(), s.guard, orderKey("k"), semel.Fingerprint{1}, func(ctx context.Context, tx pgx.Tx) (order, error) {
				if ran++; ran == 1 {
					take(t, s)
				}
				return s.insert(ctx, tx, "k")
			})
			switch want := map[string]error{"claimed": semel.ErrInFlight, "cancelled": semel.ErrCancelled}[name]; {
			case !errors.Is(err, want):
				t.Errorf("got %v, want %v", err, want)
			case want != nil:
				s.wantNames(t, "")
			default: // it runs again, with a greater fence
				s.wantNames(t, "k")
				s.wantState(t, "k", semel.StateCompleted)
			}
			s.idle(t)
		})
	}
}

// Promise 1: the fences of a digest grow even when a transaction takes so long
// that a younger claim comes and goes without a trace.
func TestTxThatStoodStill(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	o := pgstore.Ticking(&pgstore.Options{Schema: s.store.SchemaName()})
	execute(t, s.pool, fmt.Sprintf("CREATE TABLE %[1]q.tick (ms bigint NOT NULL); INSERT INTO %[1]q.tick VALUES (0)", s.store.SchemaName()))
	g := newGuard(t, newStore(t, s.pool, o), nil)
	var younger semel.Fence
	_, err := pgstore.Do(t.Context(), g, orderKey("k"), semel.Fingerprint{1}, func(context.Context, pgx.Tx) (int, error) {
		p := params("k")
		p.Digest = g.Digest(orderKey("k"))
		rec := wins(t, s.store, p)
		younger = rec.Fence
		settles(t, s.store, rec, semel.Settlement{State: semel.StateReleased})
		// The time of the sweep has come.
		execute(t, s.pool, fmt.Sprintf("UPDATE %[1]q.tick SET ms = 300000; DELETE FROM %[1]q.record", s.store.SchemaName())) //nolint:contextcheck // the test has one context.
		return 0, nil
	})
	noError(t, err)
	if rec, err := g.Lookup(t.Context(), orderKey("k")); err != nil || rec.Fence <= younger {
		t.Errorf("got fence %d, error %v, want > %d", rec.Fence, err, younger)
	}
}
