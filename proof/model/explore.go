package main

import (
	"context"
	"hash/maphash"
	"slices"
	"time"

	"github.com/semel-dev/semel/internal/must"
)

// found is the result of an exploration.
type found struct {
	states      int
	transitions int
	depth       int // steps of the longest shortest path
	exhausted   bool
	took        time.Duration
	breach      breach // the zero breach when every promise was kept
	path        []step // from the start to the breach, the shortest there is
}

// exploration is a breadth-first search through all states. Of states seen
// before it keeps 128 bits of hash, and of each the state it was reached from.
type exploration struct {
	model   *model
	seeds   [2]maphash.Seed
	seen    map[[2]uint64]int32
	parents []int32
}

// checkEvery states are expanded between two checks of the context.
const checkEvery = 1 << 12

// explore looks at every state that can be reached, at most at the given
// number of them, and stops at the first breach.
func (m *model) explore(ctx context.Context, most int) found {
	began := time.Now()
	x := &exploration{
		model: m, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, seen: map[[2]uint64]int32{},
	}
	var f found
	start := state{}
	x.enter(&start, -1)
	level := []state{start}
	first := int32(0) // the number of the level's first state
	for len(level) > 0 && f.breach.promise == 0 {
		below := x.expand(ctx, &f, level, first, most)
		if len(x.parents) > most || ctx.Err() != nil {
			f.states, f.took = len(x.parents), time.Since(began)
			return f
		}
		first += int32(len(level)) //nolint:gosec // bounded by most.
		level = below
		f.depth += min(1, len(below))
	}
	f.states, f.took, f.exhausted = len(x.parents), time.Since(began), f.breach.promise == 0
	return f
}

// expand takes every step from the states of one level, the first of which has
// that number, and returns the states that are new.
func (x *exploration) expand(ctx context.Context, f *found, level []state, first int32, most int) []state {
	var below []state
	for i := range level {
		if len(x.parents) > most || i%checkEvery == 0 && ctx.Err() != nil {
			return nil
		}
		parent := first + int32(i)
		x.model.steps(&level[i], func(st step) {
			f.transitions++
			switch {
			case f.breach.promise != 0:
				return
			case st.breach.promise != 0:
				f.breach, f.path = st.breach, x.path(parent)
				return
			}
			x.model.canonical(&st.next)
			if x.enter(&st.next, parent) {
				below = append(below, st.next)
			}
		})
		if f.breach.promise != 0 {
			return nil
		}
	}
	return below
}

// steps emits all that can happen next.
func (m *model) steps(s *state, emit func(step)) {
	for i := range m.hosts {
		if i > 0 && s.hosts[i] == s.hosts[i-1] {
			continue // what one can do, the other can: they differ in nothing
		}
		m.hostSteps(s, i, emit)
	}
	for j := range m.places {
		m.looseSteps(s, j, emit)
	}
	m.storeSteps(s, emit)
}

func (x *exploration) hash(s *state) [2]uint64 {
	return [2]uint64{maphash.Comparable(x.seeds[0], *s), maphash.Comparable(x.seeds[1], *s)}
}

// enter reports whether the state is new.
func (x *exploration) enter(s *state, parent int32) bool {
	h := x.hash(s)
	if _, ok := x.seen[h]; ok {
		return false
	}
	x.seen[h] = int32(len(x.parents)) //nolint:gosec // bounded by explore.
	x.parents = append(x.parents, parent)
	return true
}

// path walks from the start to the state of that number and, by its first step
// that breaks a promise, beyond; with the names that hosts, fences and owners
// have along the way, which [model.canonical] takes from states.
func (x *exploration) path(to int32) []step {
	var numbers []int32
	for n := to; n > 0; n = x.parents[n] {
		numbers = append(numbers, n)
	}
	slices.Reverse(numbers)
	var path []step
	now := state{}
	take := func(fits func(*step) bool) {
		taken := false
		x.model.steps(&now, func(st step) {
			if !taken && fits(&st) {
				taken = true
				path = append(path, st)
			}
		})
		must.Hold(taken, "the path of an exploration can be walked again")
		now = path[len(path)-1].next
	}
	for _, n := range numbers {
		take(func(st *step) bool {
			same := st.next
			x.model.canonical(&same)
			number, ok := x.seen[x.hash(&same)]
			return ok && number == n && st.breach.promise == 0
		})
	}
	take(func(st *step) bool { return st.breach.promise != 0 })
	return path
}
