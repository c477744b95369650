package txn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/semel-dev/semel"
)

// Begin opens a transaction with a claim in it, or returns the record in its
// way, with nothing open.
type Begin[P comparable] func(ctx context.Context, p *semel.ClaimParams, wait time.Duration) (rec semel.Record, o Open[P], err error)

// Adopt opens a transaction for the claim of that digest, which was committed before.
type Adopt[P comparable] func(ctx context.Context, d semel.Digest) (Open[P], error)

// Transaction is a transaction of the store's own. It implements [semel.Tx].
type Transaction[P comparable] struct {
	shared *Transactions[P]
	begin  Begin[P]
	adopt  Adopt[P]

	mu     sync.Mutex // guards the fields below: the work and the end of its context can end it at once
	opened Open[P]    // nil unless it is open
	work   *Work[P]
	claim  Claimed
	ended  error       // why it is no longer open
	stop   func() bool // stops watching the context of the work
}

// New returns a transaction that takes nothing before its claim.
func (s *Transactions[P]) New(begin Begin[P], adopt Adopt[P]) *Transaction[P] {
	return &Transaction[P]{shared: s, begin: begin, adopt: adopt}
}

// Claim implements [semel.Tx].
func (t *Transaction[P]) Claim(ctx context.Context, p semel.ClaimParams, wait time.Duration) (rec semel.Record, won bool, err error) {
	if err := p.Validate(); err != nil {
		return semel.Record{}, false, err
	}
	if err := t.shared.DB.Enter(ctx, "claim"); err != nil {
		return semel.Record{}, false, err
	}
	defer t.shared.DB.Leave()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.opened != nil || t.ended != nil {
		return semel.Record{}, false, t.shared.errorf("claim: the transaction was used before")
	}
	rec, o, err := t.begin(ctx, &p, wait)
	if err != nil || o == nil {
		return rec, false, err
	}
	t.use(ctx, o, Claimed{Params: p, Fence: o.Fence()})
	return Won(&p, o.Fence()), true, nil
}

// Adopt begins the transaction, in place of Claim, for a claim that was committed before. Commit settles
// that, or rolls back with [semel.ErrLost] when it is not claimed with the fence; it returns [semel.ErrUnknown]
// where the work has ended the transaction, because the record does not tell how.
func (t *Transaction[P]) Adopt(ctx context.Context, d semel.Digest, f semel.Fence) error {
	if err := t.shared.DB.Enter(ctx, "begin"); err != nil {
		return err
	}
	defer t.shared.DB.Leave()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.opened != nil || t.ended != nil {
		return t.shared.errorf("begin: the transaction was used before")
	}
	o, err := t.adopt(ctx, d)
	if err != nil {
		return err
	}
	t.use(ctx, o, Claimed{Params: semel.ClaimParams{Digest: d}, Fence: f, Adopted: true})
	return nil
}

func (t *Transaction[P]) use(ctx context.Context, o Open[P], c Claimed) {
	t.opened, t.claim = o, c
	t.work = &Work[P]{Place: o.Place(), store: t.shared.Store, outer: workFrom[P](ctx)}
}

// Won is a claim inside of a transaction. It has no times, because no
// other caller can see it.
func Won(p *semel.ClaimParams, fence semel.Fence) semel.Record {
	return semel.Record{
		Digest: p.Digest, Scope: p.Scope, Name: p.Name, Fingerprint: p.Fingerprint,
		State: semel.StateClaimed, Fence: fence, Owner: p.Owner, Attempt: 1,
	}
}

// Context implements [semel.Tx]. When ctx ends, the transaction is rolled back,
// so that work which does not watch ctx holds no locks.
func (t *Transaction[P]) Context(ctx context.Context) context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.opened == nil {
		return ctx
	}
	t.stop = context.AfterFunc(ctx, func() {
		t.finish(ctx, fmt.Errorf("%w: %w", semel.ErrRolledBack, context.Cause(ctx)))
	})
	return t.work.in(ctx)
}

// Commit implements [semel.Tx].
func (t *Transaction[P]) Commit(ctx context.Context, v semel.Settlement) error {
	if err := t.shared.check(&v); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.ended != nil:
		return t.ended
	case t.opened == nil:
		return t.shared.errorf("commit: nothing was claimed in this transaction")
	}
	o := t.opened
	end, err := o.Commit(ctx, &t.claim, &v)
	if end == RolledBack {
		err = fmt.Errorf("%w: %w", semel.ErrRolledBack, t.shared.DB.Translate("commit", err))
		t.shared.Keep(ctx, t.end(err))
		return err
	}
	marks := t.end(t.shared.errorf("commit: the transaction has been committed"))
	switch {
	case t.claim.Adopted && end != Committed:
		t.shared.Keep(ctx, marks)
		return fmt.Errorf("%w: %w", semel.ErrUnknown, t.shared.errorf("commit: the transaction ended under the work (which must call neither Commit nor Rollback, and return the errors that it meets)"))
	case end == EndedByWork:
		return t.endedByWork(ctx, &v, marks)
	case end == Gone:
		err = o.Recover(ctx, &t.claim, &v)
		t.shared.Keep(ctx, marks)
		return err
	case err != nil:
		t.shared.Keep(ctx, marks) // what was committed is there already
		return t.shared.DB.Translate("commit", err)
	}
	return nil
}

// check refuses what a transaction does not end as.
func (s *Transactions[P]) check(v *semel.Settlement) error {
	if err := s.DB.Check(v); err != nil {
		return err
	}
	if v.State == semel.StateReleased {
		return s.errorf("commit: a transaction is not settled as %v", v.State)
	}
	return nil
}

// endedByWork settles the record in a transaction of its own, after the work
// has called Commit: the claim was committed with the rows.
func (t *Transaction[P]) endedByWork(ctx context.Context, v *semel.Settlement, marks []Mark) error {
	err := t.shared.Store.Settle(ctx, t.claim.Params.Digest, t.claim.Fence, *v)
	switch {
	case errors.Is(err, semel.ErrLost):
		t.ended = fmt.Errorf("%w: %w", semel.ErrRolledBack, t.shared.errorf("commit: the work has ended the transaction itself (it must call neither Commit nor Rollback)"))
		t.shared.Keep(ctx, marks)
		return t.ended
	case err == nil:
		t.shared.Warn(ctx, &t.claim, "the work committed the transaction itself, its outcome was recorded after it")
	}
	return err
}

// Conflict implements [semel.Tx].
func (t *Transaction[P]) Conflict(err error) bool { return t.shared.DB.Conflict(err) }

// Rollback implements [semel.Tx].
func (t *Transaction[P]) Rollback() error {
	t.finish(context.Background(), fmt.Errorf("%w: %w", semel.ErrRolledBack, t.shared.errorf("it was rolled back")))
	return nil // a connection that breaks here is rolled back by the server
}

// finish rolls back what is open.
func (t *Transaction[P]) finish(ctx context.Context, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shared.Keep(ctx, t.end(why))
}

// end closes the transaction, committed or not, and returns what became unknown
// inside of it. Only the first call counts.
func (t *Transaction[P]) end(why error) []Mark {
	if t.ended == nil {
		t.ended = why
	}
	if t.opened == nil {
		return nil
	}
	if t.stop != nil {
		t.stop()
	}
	marks := t.work.close()
	t.opened.Close()
	t.opened = nil
	return marks
}

func (s *Transactions[P]) errorf(format string, args ...any) error {
	return fmt.Errorf(s.Name+": "+format, args...)
}
