package mysqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/txn"
	"github.com/semel-dev/semel/store/internal/verb"
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
	s := t.store
	if err := s.gate.Check("begin a transaction", verb.Writes); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("mysqlstore: open a transaction: %w", context.Cause(ctx))
	}
	if w := s.transactions.WorkOf(ctx); w != nil {
		return s.transactions.Within(w), nil
	}
	return s.transactions.New(func(ctx context.Context, p *semel.ClaimParams, wait time.Duration) (semel.Record, txn.Open[txHandle], error) {
		rec, o, err := s.openWith(ctx, &t.options, p, wait)
		if o == nil {
			return rec, nil, err
		}
		return rec, o, err
	}, func(ctx context.Context, _ semel.Digest) (txn.Open[txHandle], error) {
		o, err := s.adopt(ctx, &t.options)
		if err != nil {
			return nil, translate("begin", err)
		}
		return o, nil
	}), nil
}

// TxFrom returns the transaction under which ctx works, or nil: outside of
// one, and where it was joined by another handle than a *sql.Tx.
func TxFrom(ctx context.Context) *sql.Tx {
	w := txn.From[txHandle](ctx)
	if w == nil {
		return nil
	}
	tx, _ := w.Place.execer.(*sql.Tx)
	return tx
}

// savepointName is set where the claim of a whole transaction begins.
const savepointName = "semel"

// opened is an open transaction with its connection. It implements [txn.Open].
type opened struct {
	store  *Store
	tx     *sql.Tx
	held   *sql.Conn // a connection that is not of this package, to be given back
	conn   *conn     // one that is
	cancel context.CancelFunc
	fence  semel.Fence
	sent   time.Time // when its claim was: a wait for a connection is not one for the digest
	// committed: the rows were committed without a record.
	committed bool
}

// Place implements [txn.Open].
func (o *opened) Place() txHandle { return txHandle{execer: o.tx, conn: o.conn} }

// Fence implements [txn.Open].
func (o *opened) Fence() semel.Fence { return o.fence }

// Close implements [txn.Open]. It rolls back, unless it was committed, and gives the connection back.
func (o *opened) Close() {
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
