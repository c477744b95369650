package mysqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/semel-dev/semel"
)

var (
	_ semel.Tx = (*transaction)(nil)
	_ semel.Tx = (*savepoint)(nil)
)

// Transactor opens transactions of the store's database, for
// [semel.Guard.BeginTx] and for middleware. o is as for [sql.DB.BeginTx]; nil
// means the server's own isolation level. Inside of a transaction of this
// store, with its context, they are savepoints of that one.
func (s *Store) Transactor(o *sql.TxOptions) semel.Transactor {
	t := transactor{store: s}
	if o != nil {
		t.options = *o
	}
	return t
}

type transactor struct {
	store   *Store
	options sql.TxOptions
}

var errReadOnlyOptions = errors.New("mysqlstore: a read-only transaction cannot record an outcome (leave ReadOnly of sql.TxOptions unset)")

// Transaction implements [semel.Transactor]. It takes nothing yet: Claim takes
// a connection.
func (t transactor) Transaction(ctx context.Context) (semel.Tx, error) {
	if t.options.ReadOnly {
		return nil, errReadOnlyOptions
	}
	if err := t.store.beginChange(); err != nil {
		return nil, err
	}
	defer t.store.end()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("mysqlstore: open a transaction: %w", context.Cause(ctx))
	}
	if w := t.store.workOf(ctx); w != nil {
		return &savepoint{store: t.store, parent: w, place: w.place}, nil
	}
	return &transaction{store: t.store, options: t.options}, nil
}

// savepointName is set where the claim begins.
const savepointName = "semel"

// transaction is a transaction of the store's own.
type transaction struct {
	store   *Store
	options sql.TxOptions

	mu     sync.Mutex // guards the fields below: the work and the end of its context meet here
	opened *opened    // while it is open
	work   *work
	params semel.ClaimParams
	fence  semel.Fence
	ended  error       // why it is open no longer
	stop   func() bool // stops heeding the end of the work's context
}

// opened is an open transaction with its connection.
type opened struct {
	tx     *sql.Tx
	held   *sql.Conn // a connection that is not of this package, to be given back
	conn   *conn     // one that is
	cancel context.CancelFunc
	fence  semel.Fence
}

var (
	errCommitted = errors.New("mysqlstore: commit: the transaction has been committed")
	errNoClaim   = errors.New("mysqlstore: commit: nothing was claimed in this transaction")
	errUsed      = errors.New("mysqlstore: claim: the transaction has been used before")
)

// Claim implements [semel.Tx].
func (t *transaction) Claim(ctx context.Context, p semel.ClaimParams, wait time.Duration) (rec semel.Record, won bool, err error) {
	if err := p.Validate(); err != nil {
		return semel.Record{}, false, err
	}
	if err := t.store.beginChange(); err != nil {
		return semel.Record{}, false, err
	}
	defer t.store.end()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.opened != nil || t.ended != nil {
		return semel.Record{}, false, errUsed
	}
	rec, o, err := t.store.openWith(ctx, &t.options, &p, wait)
	if err != nil || o == nil {
		return rec, false, err
	}
	t.opened, t.params, t.fence = o, p, o.fence
	t.work = &work{store: t.store, outer: workFrom(ctx), place: place{o.tx, o.conn}}
	return wonRecord(&p, o.fence), true, nil
}

// wonRecord is a claim inside of a transaction. It has no times, because the
// server was not asked for them: nobody else can see it.
func wonRecord(p *semel.ClaimParams, fence semel.Fence) semel.Record {
	return semel.Record{
		Digest: p.Digest, Scope: p.Scope, Name: p.Name, Fingerprint: p.Fingerprint,
		State: semel.StateClaimed, Fence: fence, Owner: p.Owner, Attempt: 1,
	}
}

// Context implements [semel.Tx]. When ctx ends, the transaction is rolled back,
// so that work which does not heed it keeps no locks.
func (t *transaction) Context(ctx context.Context) context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.opened == nil {
		return ctx
	}
	t.stop = context.AfterFunc(ctx, func() {
		t.finish(ctx, fmt.Errorf("%w: %w", semel.ErrRolledBack, context.Cause(ctx)))
	})
	return context.WithValue(ctx, workKey{}, t.work)
}

// Conflict implements [semel.Tx].
func (t *transaction) Conflict(err error) bool { return isTxConflict(err) }

// Rollback implements [semel.Tx].
func (t *transaction) Rollback() error {
	t.finish(context.Background(), fmt.Errorf("%w: mysqlstore: it was rolled back", semel.ErrRolledBack))
	return nil // a connection that breaks here is rolled back by the server
}

// finish rolls back what is open.
func (t *transaction) finish(ctx context.Context, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.store.keepMarks(ctx, t.end(why))
}

// end closes the transaction, committed or not, and hands over what became
// unknown inside of it. Only the first call counts.
func (t *transaction) end(why error) []mark {
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
	t.opened.close()
	t.opened = nil
	return marks
}

// close rolls back, unless it was committed, and gives the connection back.
func (o *opened) close() {
	err := o.tx.Rollback()
	o.cancel()
	if o.held == nil {
		return
	}
	if err != nil { // also where its context ended it: a KILL can have met that ROLLBACK
		discard(o.held)
	}
	_ = o.held.Close() // it only gives it back
}

// discard closes a connection of the pool on which a transaction may be open
// still; the server rolls it back.
func discard(held *sql.Conn) {
	_ = held.Raw(func(any) error { return driver.ErrBadConn })
}

// keepMarks records, after a rollback, what became unknown inside of it.
func (s *Store) keepMarks(ctx context.Context, marks []mark) {
	if len(marks) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resetTimeout)
	defer cancel()
	for _, m := range marks {
		if err := s.keepMark(ctx, m); err != nil {
			s.logLost(ctx, m, err)
		}
	}
}

// keepMark records what is unknown, unless there is another record by now.
func (s *Store) keepMark(ctx context.Context, m mark) error {
	rec, won, err := s.Claim(ctx, m.params)
	if err != nil || !won {
		return err
	}
	return s.Settle(ctx, rec.Digest, rec.Fence, m.settlement)
}
