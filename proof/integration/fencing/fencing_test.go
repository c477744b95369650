package fencing_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/semel-dev/semel"
)

// interleavings are all orders of two writes of the former holder (index 0)
// and two of the present one (index 1).
func interleavings() [][]int {
	var all [][]int
	var extend func(order []int, left [2]int)
	extend = func(order []int, left [2]int) {
		if left == [2]int{} {
			all = append(all, append([]int(nil), order...))
			return
		}
		for who := range left {
			if left[who] > 0 {
				next := left
				next[who]--
				extend(append(order, who), next)
			}
		}
	}
	extend(nil, [2]int{2, 2})
	return all
}

// TestEveryInterleaving: whatever the order in which the writes of two holders
// arrive, each of them twice because its reply was lost, a write passes if and
// only if no greater fence was seen.
func TestEveryInterleaving(t *testing.T) {
	t.Parallel()
	pairs := [][2]semel.Fence{{9, 10}, {1 << 53, 1<<53 + 1}, {math.MaxInt64 - 1, math.MaxInt64}}
	for name, open := range systems() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			for way, guard := range s.guards {
				for _, fences := range pairs {
					for i, order := range interleavings() {
						interleave(t, guard, fmt.Sprintf("%s-%d-%d", way, fences[0], i), order, fences)
					}
				}
			}
		})
	}
}

func interleave(t *testing.T, guard guarded, resource string, order []int, fences [2]semel.Fence) {
	t.Helper()
	must(t, guard.prepare(t.Context(), resource))
	var highest semel.Fence
	level := 0
	for step, who := range order {
		fence := fences[who]
		passes := fence >= highest
		if passes {
			highest, level = fence, step+1
		}
		for range 2 {
			written, err := guard.write(t.Context(), resource, step+1, fence)
			if written != passes || err != nil {
				t.Fatalf("%s, order %v, write %d with fence %d: written %t, %v; want %t", resource, order, step, fence, written, err, passes)
			}
		}
		gotLevel, gotFence, err := guard.read(t.Context(), resource)
		if gotLevel != level || gotFence != highest || err != nil {
			t.Fatalf("%s, order %v, after write %d: level %d with fence %d, %v; want level %d with %d",
				resource, order, step, gotLevel, gotFence, err, level, highest)
		}
	}
}

// TestGrowingFences: holders with fences of their own write at once, in any
// order. A trigger of the database refuses every step back, and a reader never
// sees one; at the end the greatest fence has the row.
func TestGrowingFences(t *testing.T) {
	t.Parallel()
	for name, open := range systems() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			if s.db != nil {
				s.db.refuseStepsBack(t)
			}
			for way, guard := range s.guards {
				t.Run(way, func(t *testing.T) {
					race(t, guard, "race-"+way)
				})
			}
		})
	}
}

func race(t *testing.T, guard guarded, resource string) {
	t.Helper()
	const holders, base = 100, 1 << 50
	must(t, guard.prepare(t.Context(), resource))
	if _, err := guard.write(t.Context(), resource, 1, base+1); err != nil { // so that the reader finds a row
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var reader, writers sync.WaitGroup
	reader.Go(func() { watch(ctx, t, guard, resource) })
	turns := rand.Perm(holders)
	for worker := range 8 {
		writers.Go(func() {
			for i := worker; i < holders; i += 8 {
				level := turns[i] + 1
				if err := writePatiently(t.Context(), guard, resource, level, semel.Fence(base+level)); err != nil {
					t.Errorf("fence %d: %v", level, err)
				}
			}
		})
	}
	writers.Wait()
	cancel()
	reader.Wait()
	level, fence, err := guard.read(t.Context(), resource)
	if level != holders || fence != base+holders || err != nil {
		t.Errorf("at the end: level %d with fence %d, %v; want those of the last holder, %d", level, fence, err, holders)
	}
}

// writePatiently repeats what MySQL undid because of a deadlock.
func writePatiently(ctx context.Context, guard guarded, resource string, level int, fence semel.Fence) error {
	for {
		_, err := guard.write(ctx, resource, level, fence)
		var deadlock *mysql.MySQLError
		if !errors.As(err, &deadlock) || deadlock.Number != 1213 {
			return err
		}
	}
}

func watch(ctx context.Context, t *testing.T, guard guarded, resource string) {
	t.Helper()
	var last semel.Fence
	for ctx.Err() == nil {
		level, fence, err := guard.read(context.WithoutCancel(ctx), resource)
		if err != nil || fence < last || uint64(fence)&0xFFFF != uint64(level) {
			t.Errorf("fence %d with level %d after fence %d, %v", fence, level, last, err)
			return
		}
		last = fence
	}
}

// refuseStepsBack installs a trigger that fails any statement which replaces a
// fence by a smaller one, or a value without its fence.
func (s *sqlSystem) refuseStepsBack(t *testing.T) {
	t.Helper()
	const back = "NEW.fence < OLD.fence OR (NEW.fence = OLD.fence AND NEW.level <> OLD.level)"
	statements := map[string][]string{
		"postgresql": {
			`CREATE FUNCTION back() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a step back'; END $$`,
			"CREATE TRIGGER back BEFORE UPDATE ON stock FOR EACH ROW WHEN (" + back + ") EXECUTE FUNCTION back()",
		},
		"mysql": {"CREATE TRIGGER back BEFORE UPDATE ON stock FOR EACH ROW IF " + back +
			" THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a step back'; END IF"},
		"sqlite": {"CREATE TRIGGER back BEFORE UPDATE ON stock WHEN " + back + " BEGIN SELECT RAISE(ABORT, 'a step back'); END"},
	}
	for _, statement := range statements[s.dialect] {
		if _, err := s.db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	must(t, s.insertRow(t.Context(), "trigger"))
	if _, err := s.db.ExecContext(t.Context(), "UPDATE stock SET fence = -1 WHERE sku = 'trigger'"); err == nil {
		t.Fatal("the trigger lets a step back pass: the test proves nothing")
	}
}

// TestInsertOnce: one row, whichever holder comes first, or both at once.
func TestInsertOnce(t *testing.T) {
	t.Parallel()
	for name, open := range sqlSystems() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			for i := range 10 {
				intent := semel.Key{Scope: "fencing", Name: fmt.Sprint("once", i)}.Digest()
				var mu sync.Mutex
				wrote := 0
				var holders sync.WaitGroup
				for fence := range 8 {
					holders.Go(func() {
						written, err := s.db.insertOnce(t.Context(), intent, fence, semel.Fence(fence+1))
						if err != nil {
							t.Error(err)
						}
						mu.Lock()
						defer mu.Unlock()
						if written {
							wrote++
						}
					})
				}
				holders.Wait()
				if wrote != 1 {
					t.Errorf("%d holders inserted the row, want 1", wrote)
				}
			}
			var rows int
			if err := s.db.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM payment").Scan(&rows); err != nil || rows != 10 {
				t.Errorf("%d rows of 10 intents, %v", rows, err)
			}
		})
	}
}

// TestWithoutAFence: a write with a context that is not of a claim never
// reaches the database.
func TestWithoutAFence(t *testing.T) {
	t.Parallel()
	for name, open := range sqlSystems() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			for way, guard := range s.guards {
				must(t, guard.prepare(t.Context(), way))
				for _, fence := range []semel.Fence{semel.FenceFrom(t.Context()), math.MaxUint64} {
					if written, err := guard.write(t.Context(), way, 7, fence); written || err == nil {
						t.Errorf("%s with fence %d: written %t, %v; want an error", way, uint64(fence), written, err)
					}
				}
			}
		})
	}
}
