package pgstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/operator"
	"github.com/semel-dev/semel/store/pgstore"
)

// mixKeys counts the intents that processes and doors fight over.
const mixKeys = 40

// childSame orders the same things as its twins, through every door, and
// prints the answers.
func childSame(dsn, schema string) int {
	ctx := context.Background()
	s, db, err := otherShop(ctx, dsn, schema)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var mu sync.Mutex // guards the lines
	var failed atomic.Bool
	var wg sync.WaitGroup
	for _, by := range doors() {
		wg.Go(func() {
			for _, k := range rand.Perm(mixKeys) {
				o, err := by(ctx, s, db, fmt.Sprint("k", k))
				if err != nil {
					fmt.Fprintln(os.Stderr, k, err)
					failed.Store(true)
					return
				}
				mu.Lock()
				fmt.Fprintln(os.Stdout, o.Name, o.ID)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if failed.Load() {
		return 1
	}
	return 0
}

// Promises 1 and 2 between processes and doors: every intent is executed once,
// and all get its answer.
func TestTxProcesses(t *testing.T) {
	t.Parallel()
	s := openShop(t, nil)
	execute(t, s.pool, "ALTER TABLE "+s.orders+" DROP CONSTRAINT once")
	var outs [3]bytes.Buffer
	var wg sync.WaitGroup
	for i := range outs {
		wg.Go(func() {
			cmd := childCommand(t, "same", testserver.Postgres(t)+"&pool_max_conns=6", s.store.SchemaName())
			cmd.Stdout = &outs[i]
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	answered := map[string]string{}
	for i := range outs {
		for line := range strings.Lines(outs[i].String()) {
			name, id, _ := strings.Cut(strings.TrimSpace(line), " ")
			if answered[name] == "" {
				answered[name] = id
			}
			if answered[name] != id {
				t.Errorf("%s: got order %s and %s", name, answered[name], id)
			}
		}
	}
	if len(answered) != mixKeys {
		t.Errorf("%d answers, want %d", len(answered), mixKeys)
	}
	s.wantPairs(t, answered)
}

// Whether a caller works in a transaction or in two phases, the answer is one,
// and so is the row.
func TestTxBesideTwoPhases(t *testing.T) {
	t.Parallel()
	s := openShop(t, &semel.Options{Policy: semel.Policy{Wait: time.Minute}})
	execute(t, s.pool, "ALTER TABLE "+s.orders+" DROP CONSTRAINT once")
	db := s.db(t)
	ways := doors()
	ways["two phases"] = func(ctx context.Context, s *shop, _ *sql.DB, name string) (order, error) {
		return semel.Do(ctx, s.guard, orderKey(name), semel.Fingerprint{1}, func(ctx context.Context) (o order, err error) {
			err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
				o, err = s.insert(ctx, tx, name)
				return err
			})
			return o, err
		})
	}
	second := &shop{pool: s.pool, store: s.store, orders: s.orders, guard: newGuard(t, s.store, &semel.Options{Policy: semel.Policy{Wait: time.Minute}})}
	var mu sync.Mutex // guards answered
	answered := map[string]string{}
	var wg sync.WaitGroup
	for _, by := range ways {
		for _, s := range []*shop{s, second} {
			wg.Go(func() {
				for _, k := range rand.Perm(mixKeys) {
					name := fmt.Sprint("k", k)
					o, err := by(t.Context(), s, db, name)
					mu.Lock()
					id := fmt.Sprint(o.ID)
					if answered[name] == "" {
						answered[name] = id
					}
					if err != nil || answered[name] != id {
						t.Errorf("%s: got order %s and %s, error %v", name, answered[name], id, err)
					}
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
	s.wantPairs(t, answered)
}

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
		rec := wins(t, s.store, p) //nolint:contextcheck // the test has one context.
		younger = rec.Fence
		settles(t, s.store, rec, semel.Settlement{State: semel.StateReleased}) //nolint:contextcheck // the test has one context.
		// The time of the sweep has come.
		execute(t, s.pool, fmt.Sprintf("UPDATE %[1]q.tick SET ms = 300000; DELETE FROM %[1]q.record", s.store.SchemaName())) //nolint:contextcheck // the test has one context.
		return 0, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if rec, err := g.Lookup(t.Context(), orderKey("k")); err != nil || rec.Fence <= younger {
		t.Errorf("got fence %d, error %v, want > %d", rec.Fence, err, younger)
	}
}
