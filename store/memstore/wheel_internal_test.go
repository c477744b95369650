package memstore

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drain sweeps like the store does, until nothing is due or the steps are
// taken, and returns what has expired.
func drain(w *wheel, now int64, limit int) (expired []*entry, steps int) {
	for ; steps < limit; steps++ {
		e := w.due(uint64(now))
		if e == nil {
			break
		}
		w.unlink(e)
		if e.expires <= now {
			expired = append(expired, e)
		} else {
			w.put(e, uint64(e.expires))
		}
	}
	return expired, steps
}

// TestWheelKeepsTime compares the wheel with a plain set, for any sequence of
// filing, moving, removing and time passing.
func TestWheelKeepsTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &wheel{}
		filed := map[*entry]bool{}
		order := []*entry{} // so that draws repeat
		now := int64(0)
		span := func(label string) int64 {
			return rapid.Int64Range(1, 1<<rapid.SampledFrom([]int{1, 3, 7, 13, 26, 40}).Draw(t, label+" bits")).Draw(t, label)
		}
		pick := func() *entry {
			order = slices.DeleteFunc(order, func(e *entry) bool { return !filed[e] })
			if len(order) == 0 {
				t.Skip("empty")
			}
			return rapid.SampledFrom(order).Draw(t, "entry")
		}
		sweep := func(limit int) {
			expired, _ := drain(w, now, limit)
			for _, e := range expired {
				if !filed[e] || e.expires > now {
					t.Fatalf("at %d: an entry that expires at %d (filed: %v) came out", now, e.expires, filed[e])
				}
				delete(filed, e)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(*rapid.T) {
				e := &entry{expires: now + span("in")}
				w.put(e, uint64(e.expires))
				filed[e], order = true, append(order, e)
			},
			"move": func(*rapid.T) {
				e := pick()
				e.expires = now + span("in")
				w.move(e, uint64(e.expires))
			},
			"remove": func(*rapid.T) {
				e := pick()
				w.unlink(e)
				delete(filed, e)
			},
			"pass and sweep a little": func(*rapid.T) {
				now += span("pass")
				sweep(rapid.IntRange(0, 3).Draw(t, "steps"))
			},
			"pass and sweep": func(*rapid.T) {
				now += span("pass")
				sweep(math.MaxInt)
				for e := range filed {
					if e.expires <= now {
						t.Fatalf("at %d: an entry that expires at %d stayed", now, e.expires)
					}
				}
			},
		})
	})
}

// TestWheelWaitsForAClockThatWentBack shows that a sweep ends even then.
func TestWheelWaitsForAClockThatWentBack(t *testing.T) {
	t.Parallel()
	w := &wheel{}
	if e := w.due(1000); e != nil {
		t.Fatalf("an empty wheel gave %v", e)
	}
	w.put(&entry{expires: 500}, 500)
	if _, steps := drain(w, 450, 100); steps != 0 {
		t.Errorf("at 450: %d steps for an entry that expires at 500, want none", steps)
	}
	if e := w.due(1000); e == nil {
		t.Error("at 1000: an entry that expired at 500 stayed")
	}
}

// TestWheelFilesNearAfterIdling shows that an idle wheel keeps up with time, so
// that what comes next is filed as near as ever.
func TestWheelFilesNearAfterIdling(t *testing.T) {
	t.Parallel()
	const now = 1<<26 - 2
	w := &wheel{}
	w.due(now)
	w.put(&entry{expires: now + 1}, now+1)
	if w.used[0] == 0 {
		t.Error("an entry that expires in a millisecond is not filed at the lowest level")
	}
}

// TestWheelStepsAreFew shows that an entry is filed again a bounded number of
// times, however long it lives and however many there are.
func TestWheelStepsAreFew(t *testing.T) {
	t.Parallel()
	const many, day = 10_000, int64(24 * 60 * 60 * 1000)
	w := &wheel{}
	steps, gone, filed := 0, 0, 0
	for now := int64(0); gone < many; now += 1009 {
		if filed < many {
			w.put(&entry{expires: now + day}, uint64(now+day))
			filed++
		}
		expired, n := drain(w, now, math.MaxInt)
		gone += len(expired)
		steps += n
	}
	if perEntry := float64(steps) / many; perEntry > sweepPerClaim {
		t.Errorf("got %.1f steps for each entry, want at most %d, as many as a claim takes", perEntry, sweepPerClaim)
	}
}
