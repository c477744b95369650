package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/semel-dev/semel"
)

// work is a transaction as the context of the work carries it.
type work struct {
	store  *Store
	outer  *work // the one in the context around it, of whatever store
	parent *work // the one whose transaction this is a savepoint of
	place  place
	depth  int // of savepoints

	mu     sync.Mutex // guards the fields below
	ended  bool
	nested bool  // an intent inside of it is being worked on
	undone error // why the server has rolled it back, as far as is known
	marks  []mark
}

// mark is an intent inside of a transaction that became unknown: what happened
// outside of the database is not undone when the transaction is.
type mark struct {
	params     semel.ClaimParams
	settlement semel.Settlement
}

type workKey struct{}

func workFrom(ctx context.Context) *work {
	w, _ := ctx.Value(workKey{}).(*work)
	return w
}

// workOf is the innermost open transaction of this store in ctx, or nil.
func (s *Store) workOf(ctx context.Context) *work {
	for w := workFrom(ctx); w != nil; w = w.outer {
		if w.store == s && w.open() {
			return w
		}
	}
	return nil
}

// TxFrom returns the transaction under which ctx works, or nil: outside of
// one, and where it was joined by another handle than a *sql.Tx.
func TxFrom(ctx context.Context) *sql.Tx {
	for w := workFrom(ctx); w != nil; w = w.outer {
		if w.open() {
			tx, _ := w.place.execer.(*sql.Tx)
			return tx
		}
	}
	return nil
}

func (w *work) open() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.ended
}

// close ends it, and hands over what became unknown inside of it.
func (w *work) close() []mark {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	marks := w.marks
	w.marks = nil
	return marks
}

var errNested = errors.New("mysqlstore: another intent is being worked on inside of this transaction (a transaction is used by one goroutine at a time)")

// enter lets one intent at a time be worked on inside, as long as the server
// has not rolled the transaction back.
func (w *work) enter() error {
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
func (w *work) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nested = false
}

// undo notes that the server has rolled the transaction back, and all around it.
func (w *work) undo(why error) {
	for ; w != nil; w = w.parent {
		w.mu.Lock()
		w.undone = why
		w.mu.Unlock()
	}
}

func (w *work) keep(m mark) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.marks = append(w.marks, m)
}
