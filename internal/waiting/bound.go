package waiting

import (
	"context"
	"sync"
	"time"
)

// Bound bounds one call of the store. It works like the context of
// context.WithDeadline, but a store that never waits, and so never asks for Done, pays neither
// for a timer nor for a channel. End frees what it holds.
type Bound struct {
	parent context.Context //nolint:containedctx // it is a context.
	until  time.Time

	mu     sync.Mutex      // guards the fields below
	inner  context.Context //nolint:containedctx // made by the first that waits.
	cancel context.CancelFunc
}

// Within returns a context that ends with parent, or at the time.
func Within(parent context.Context, until time.Time) *Bound {
	return &Bound{parent: parent, until: until}
}

// made returns the context that others wait on.
func (v *Bound) made() context.Context {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.inner == nil {
		v.inner, v.cancel = context.WithDeadline(v.parent, v.until)
	}
	return v.inner
}

// now returns the context that was made, or the parent.
func (v *Bound) now() context.Context {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.inner != nil {
		return v.inner
	}
	return v.parent
}

// Deadline implements context.Context.
func (v *Bound) Deadline() (time.Time, bool) {
	if outer, ok := v.parent.Deadline(); ok && outer.Before(v.until) {
		return outer, true
	}
	return v.until, true
}

// Done implements context.Context.
func (v *Bound) Done() <-chan struct{} { return v.made().Done() }

// Err implements context.Context.
func (v *Bound) Err() error {
	if err := v.now().Err(); err != nil {
		return err
	}
	if !time.Now().Before(v.until) {
		return context.DeadlineExceeded
	}
	return nil
}

// Value implements context.Context.
func (v *Bound) Value(key any) any { return v.now().Value(key) }

// End frees the timer, if there is one.
func (v *Bound) End() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.cancel != nil {
		v.cancel()
	}
}
