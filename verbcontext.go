package semel

import (
	"context"
	"sync"
	"time"
)

// verbContext bounds one call of the store. It is what context.WithDeadline
// makes, but a store that never waits, and so never asks for Done, pays neither
// for a timer nor for a channel. end frees what it holds.
type verbContext struct {
	parent context.Context //nolint:containedctx // it is a context.
	until  time.Time

	mu     sync.Mutex      // guards the fields below
	inner  context.Context //nolint:containedctx // made when somebody waits.
	cancel context.CancelFunc
}

// boundVerb returns a context that ends with parent, or when the store has had
// its time.
func (c *core) boundVerb(parent context.Context, began time.Time) *verbContext {
	return &verbContext{parent: parent, until: began.Add(c.timeout)}
}

// made returns the context that others wait on.
func (v *verbContext) made() context.Context {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.inner == nil {
		v.inner, v.cancel = context.WithDeadline(v.parent, v.until)
	}
	return v.inner
}

// now returns the context that was made, or the parent.
func (v *verbContext) now() context.Context {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.inner != nil {
		return v.inner
	}
	return v.parent
}

// Deadline implements context.Context.
func (v *verbContext) Deadline() (time.Time, bool) {
	if outer, ok := v.parent.Deadline(); ok && outer.Before(v.until) {
		return outer, true
	}
	return v.until, true
}

// Done implements context.Context.
func (v *verbContext) Done() <-chan struct{} { return v.made().Done() }

// Err implements context.Context.
func (v *verbContext) Err() error {
	if err := v.now().Err(); err != nil {
		return err
	}
	if !time.Now().Before(v.until) {
		return context.DeadlineExceeded
	}
	return nil
}

// Value implements context.Context.
func (v *verbContext) Value(key any) any { return v.now().Value(key) }

// end frees the timer, if there is one.
func (v *verbContext) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.cancel != nil {
		v.cancel()
	}
}
