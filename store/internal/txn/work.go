package txn

import (
	"context"
	"errors"
	"sync"

	"github.com/semel-dev/semel"
)

// Work is a transaction as the context of the work carries it.
type Work[P comparable] struct {
	Place P

	store  semel.Store
	outer  *Work[P] // the one in the context around it, of whatever store
	parent *Work[P] // the one whose transaction this is a savepoint of
	depth  int      // of savepoints

	mu     sync.Mutex // guards the fields below
	ended  bool
	nested bool  // an intent inside of it is being worked on
	undone error // why the server has rolled it back, as far as is known
	marks  []Mark
}

// Caller returns the work of a transaction that the caller has begun.
func (s *Transactions[P]) Caller(in P) *Work[P] { return &Work[P]{Place: in, store: s.Store} }

type workKey[P comparable] struct{}

func workFrom[P comparable](ctx context.Context) *Work[P] {
	w, _ := ctx.Value(workKey[P]{}).(*Work[P])
	return w
}

// From returns the innermost open transaction in ctx, of whatever store, or nil.
func From[P comparable](ctx context.Context) *Work[P] {
	w := workFrom[P](ctx)
	for w != nil && !w.isOpen() {
		w = w.outer
	}
	return w
}

// WorkOf returns the innermost open transaction of this store in ctx, or nil.
func (s *Transactions[P]) WorkOf(ctx context.Context) *Work[P] {
	w := workFrom[P](ctx)
	for w != nil && (w.store != s.Store || !w.isOpen()) {
		w = w.outer
	}
	return w
}

// in returns ctx with the work in it; without one it is ctx.
func (w *Work[P]) in(ctx context.Context) context.Context {
	if w == nil {
		return ctx
	}
	return context.WithValue(ctx, workKey[P]{}, w)
}

func (w *Work[P]) isOpen() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.ended
}

// close ends it, and returns what became unknown inside of it.
func (w *Work[P]) close() []Mark {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	marks := w.marks
	w.marks = nil
	return marks
}

var errNested = errors.New("another intent is being worked on inside of this transaction (a transaction is used by one goroutine at a time)")

// enter lets one intent at a time be worked on inside, as long as the server
// has not rolled the transaction back.
func (w *Work[P]) enter() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.undone != nil:
		return w.undone
	case w.nested:
		return errNested
	}
	w.nested = true
	return nil
}

// leave follows a successful enter.
func (w *Work[P]) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nested = false
}

// undo notes that the server has rolled the transaction back, and all around it.
func (w *Work[P]) undo(why error) {
	for ; w != nil; w = w.parent {
		w.mu.Lock()
		w.undone = why
		w.mu.Unlock()
	}
}

func (w *Work[P]) keep(marks ...Mark) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.marks = append(w.marks, marks...)
}
