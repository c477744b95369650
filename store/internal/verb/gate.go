package verb

import (
	"errors"
	"fmt"
	"sync"

	"github.com/semel-dev/semel"
)

// ErrReadOnly is returned by the changing verbs of a read-only store.
var ErrReadOnly = errors.New("the store was opened read-only")

// What a verb does to the store.
const (
	Reads  = false
	Writes = true
)

// Gate counts the verbs that are running, so that Close can wait for them. Set
// the exported fields before the first verb.
type Gate struct {
	Name     string // the store's package, the first word of every error
	ReadOnly bool

	mu     sync.RWMutex // guards closed, and that no verb begins after it is set
	closed bool
	verbs  sync.WaitGroup
}

// Enter begins a verb; Leave must follow a success. It refuses every verb of a
// closed store, and those that write of a read-only one.
func (g *Gate) Enter(act string, writes bool) error {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if err := g.refuse(act, writes); err != nil {
		return err
	}
	g.verbs.Add(1)
	return nil
}

// Leave ends a verb.
func (g *Gate) Leave() { g.verbs.Done() }

// Check is Enter for a verb that Close need not wait for; no Leave follows.
func (g *Gate) Check(act string, writes bool) error {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.refuse(act, writes)
}

func (g *Gate) refuse(act string, writes bool) error {
	switch {
	case g.closed:
		return fmt.Errorf("%s: %s: %w", g.Name, act, semel.ErrClosed)
	case writes && g.ReadOnly:
		return fmt.Errorf("%s: %s: %w", g.Name, act, ErrReadOnly)
	}
	return nil
}

// Go runs f in a goroutine that Close waits for like for a verb.
func (g *Gate) Go(act string, f func()) error {
	if err := g.Enter(act, Reads); err != nil {
		return err
	}
	go func() {
		defer g.Leave()
		f()
	}()
	return nil
}

// Close refuses every verb from now on. It does not wait; first is false when
// the gate was closed before.
func (g *Gate) Close() (first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	first = !g.closed
	g.closed = true
	return first
}

// Wait waits, after Close, for the verbs that were begun.
func (g *Gate) Wait() { g.verbs.Wait() }
