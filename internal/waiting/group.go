package waiting

import (
	"maps"
	"slices"
	"sync"
)

// Group is a set that several goroutines change. The zero value is ready.
type Group[T comparable] struct {
	mu  sync.Mutex // guards all
	all map[T]struct{}
}

// Add adds a member.
func (g *Group[T]) Add(one T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = make(map[T]struct{})
	}
	g.all[one] = struct{}{}
}

// Remove removes a member.
func (g *Group[T]) Remove(one T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.all, one)
}

// All returns the present members.
func (g *Group[T]) All() []T {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Keys(g.all))
}
