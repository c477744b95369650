package lease

import (
	"context"
	"sync"
	"time"
)

// Life is a context without values that [Life.End] ends. What package context needs for that is made when a caller
// asks for it. The zero value goes on.
type Life struct {
	mu     sync.Mutex      // guards the fields below
	made   context.Context //nolint:containedctx // it is a context.
	cancel context.CancelCauseFunc
	cause  error // of its end
}

// End ends the life; only the first cause counts.
func (l *Life) End(cause error) {
	l.mu.Lock()
	if l.cause == nil {
		l.cause = cause
	}
	cause, cancel := l.cause, l.cancel
	l.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
}

func (l *Life) context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made == nil {
		l.made, l.cancel = context.WithCancelCause(context.Background())
		if l.cause != nil {
			l.cancel(l.cause)
		}
	}
	return l.made
}

// Done implements [context.Context].
func (l *Life) Done() <-chan struct{} { return l.context().Done() }

// Err implements [context.Context].
func (l *Life) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.made != nil:
		return l.made.Err()
	case l.cause != nil:
		return context.Canceled
	}
	return nil
}

// Value implements [context.Context]: package context asks for what is its own.
func (l *Life) Value(key any) any { return l.context().Value(key) }

// Deadline implements [context.Context].
func (*Life) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }
