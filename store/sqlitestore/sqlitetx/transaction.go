package sqlitetx

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/txn"
)

// Transactor opens transactions of the store's database, for
// [semel.Guard.BeginTx] and for middleware. Inside of a transaction of this
// store, with its context, they are savepoints of that one.
func (s *Store) Transactor() semel.Transactor { return transactor{s} }

type transactor struct{ store *Store }

// Transaction implements [semel.Transactor]. It takes nothing yet: Claim takes
// a place in the queue for the file's only writer, and then a connection.
func (t transactor) Transaction(ctx context.Context) (semel.Tx, error) {
	s := t.store
	if err := s.begun(ctx, "open a transaction"); err != nil {
		return nil, err
	}
	defer s.gate.Leave()
	if outer := s.transactions.WorkOf(ctx); outer != nil {
		return s.transactions.Within(outer), nil
	}
	return s.transactions.New(s.claim, s.adopt), nil
}

// TxFrom returns the transaction under which ctx works, or nil: outside of one,
// and where it was joined by a handle other than a *sql.Tx.
func TxFrom(ctx context.Context) *sql.Tx {
	if w := txn.From[*txHandle](ctx); w != nil {
		return w.Place.tx
	}
	return nil
}

// adopting is the savepoint that is set where a transaction adopts a claim.
const adopting = "semel"

// peekTime bounds the look-up of the record by a claim that may not wait.
const peekTime = time.Second

// claim is a [txn.Begin]. It does not wait for the writer where there is a record.
func (s *Store) claim(ctx context.Context, p *semel.ClaimParams, wait time.Duration) (rec semel.Record, o txn.Open[*txHandle], err error) {
	from := time.Now()
	if rec, err := s.lookup(ctx, p.Digest, min(max(wait, peekTime), s.busy)); err == nil {
		return rec, nil, nil
	}
	w, err := s.begin(ctx, p.Digest, max(0, wait-time.Since(from)))
	if err == nil {
		var won bool
		rec, won, err = w.claim(ctx, p)
		if won {
			w.fence = rec.Fence
			return rec, w, nil
		}
		w.Close()
	}
	switch {
	case errors.Is(err, errTwin), errors.Is(err, errBusy):
		err = fmt.Errorf("%w: %w", semel.ErrInFlight, err)
	case err != nil:
		err = s.translate("claim", err)
	}
	return rec, nil, err
}

// adopt is a [txn.Adopt].
func (s *Store) adopt(ctx context.Context, d semel.Digest) (txn.Open[*txHandle], error) {
	w, err := s.begin(ctx, d, s.busy)
	if err != nil {
		return nil, s.translate("begin", err)
	}
	if err := (txDB{s}).Save(ctx, &w.in, adopting); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}
