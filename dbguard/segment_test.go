package dbguard_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/semel-dev/semel/dbguard"
	"github.com/semel-dev/semel/internal/guardtest"
)

func newSegments(t *testing.T, db *guardtest.Database, count int) *dbguard.Segments {
	t.Helper()
	g := &dbguard.Segments{Count: count}
	noError(t, g.Create(t.Context(), db))
	return g
}

func left(t *testing.T, g *dbguard.Segments, db *guardtest.Database, name string) int64 {
	t.Helper()
	n, err := g.Left(t.Context(), db, name)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func take(ctx context.Context, g *dbguard.Segments, db *guardtest.Database, name string, amount int64) error {
	return again(ctx, db, func(ctx context.Context, tx dbguard.Session) error { return g.Take(ctx, tx, name, amount) })
}

// Of many things there are five each, in four segments, and sixteen callers want
// one or two at once: what was taken and what is left stay five, and a caller that is
// refused could not have been served.
func TestSegmentsRace(t *testing.T) {
	t.Parallel()
	const stock = 5
	guardtest.EachRace(t, func(t *testing.T, db *guardtest.Database) {
		g := newSegments(t, db, 4)
		for key := range guardtest.Keys {
			noError(t, g.Add(t.Context(), db, keyOf(key).Name, stock))
		}
		taken := make([]atomic.Int64, guardtest.Keys)
		guardtest.Race(t, guardtest.Callers, guardtest.Keys, func(ctx context.Context, caller, key int) error {
			amount := int64(1 + caller%2)
			err := take(ctx, g, db, keyOf(key).Name, amount)
			if errors.Is(err, dbguard.ErrShort) {
				return nil
			}
			taken[key].Add(amount)
			return err
		})
		for key := range taken {
			if n := taken[key].Load(); n != stock {
				t.Fatalf("thing %d: %d were taken, want all %d: eight callers wanted one each", key, n, stock)
			}
		}
		if n := db.Number(t, "SELECT count(*) FROM semel_segment WHERE amount <> 0"); n != 0 {
			t.Errorf("%d segments have something left", n)
		}
	})
}

// What no segment has alone is gathered from several; the sum stays right.
func TestSegmentsGather(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		g := newSegments(t, db, 8)
		noError(t, g.Add(t.Context(), db, "seats", 83))
		if n := db.Number(t, "SELECT count(*) FROM semel_segment WHERE amount IN (10, 11)"); n != 8 {
			t.Errorf("%d segments have an equal share, want 8", n)
		}
		for i, step := range []struct {
			take, left int64
			err        error
		}{
			{take: 11, left: 72},
			{take: 50, left: 22},
			{take: 23, left: 22, err: dbguard.ErrShort},
			{take: 22, left: 0},
			{take: 1, left: 0, err: dbguard.ErrShort},
		} {
			if err := take(t.Context(), g, db, "seats", step.take); !errors.Is(err, step.err) {
				t.Errorf("step %d: got %v, want %v", i, err, step.err)
			}
			if got := left(t, g, db, "seats"); got != step.left {
				t.Errorf("step %d: %d are left, want %d", i, got, step.left)
			}
		}
		if err := g.Add(t.Context(), db, "seats", 3); err != nil || left(t, g, db, "seats") != 3 {
			t.Errorf("given back: %v, %d are left, want 3", err, left(t, g, db, "seats"))
		}
		fewer := &dbguard.Segments{Count: 1} // what is in the others is found
		if err := take(t.Context(), fewer, db, "seats", 3); err != nil {
			t.Errorf("with fewer segments: %v", err)
		}
		if err := take(t.Context(), g, db, "Seats", 1); !errors.Is(err, dbguard.ErrNotFound) || left(t, g, db, "Seats") != 0 {
			t.Errorf("another name: got %v, want ErrNotFound", err)
		}
	})
}

func TestSegmentsRefuse(t *testing.T) {
	t.Parallel()
	db := guardtest.Open(t, dbguard.SQLite)
	for _, count := range []int{-1, 0, 257} {
		if err := (&dbguard.Segments{Count: count}).Add(t.Context(), db, "x", 1); err == nil || !strings.Contains(err.Error(), "1 to 256 segments") {
			t.Errorf("%d segments: got %v, want a refusal", count, err)
		}
	}
	g := newSegments(t, db, 2)
	for name, amount := range map[string]int64{"": 1, "x": 0, "y": -1, strings.Repeat("z", 256): 1} {
		if err := g.Add(t.Context(), db, name, amount); err == nil {
			t.Errorf("Add of %d to %q was taken", amount, name)
		}
		if err := take(t.Context(), g, db, name, amount); err == nil || errors.Is(err, dbguard.ErrNotFound) {
			t.Errorf("Take of %d from %q: got %v, want it to be refused", amount, name, err)
		}
	}
	if err := g.Take(t.Context(), db.Database, "x", 1); !errors.Is(err, dbguard.ErrNoTransaction) {
		t.Errorf("on a pool: got %v, want ErrNoTransaction", err)
	}
}

// A sum that the database cannot hold is refused, and not rounded; what there is
// in all may be more than that, and can be taken.
func TestSegmentsAreFull(t *testing.T) {
	t.Parallel()
	guardtest.Each(t, func(t *testing.T, db *guardtest.Database) {
		const count, most = 4, math.MaxInt64 - 3
		g := newSegments(t, db, count)
		add := func() error { return g.Add(t.Context(), db, "a", most) }
		noError(t, errors.Join(add(), add(), add()))
		for range 3 {
			if err := take(t.Context(), g, db, "a", most); err != nil {
				t.Errorf("Take = %v", err)
			}
		}
		if got := left(t, g, db, "a"); got != 0 {
			t.Errorf("%d are left, want 0", got)
		}
		noError(t, errors.Join(add(), add(), add(), add()))
		if err := add(); err == nil {
			t.Error("what does not fit was added")
		}
	})
}
