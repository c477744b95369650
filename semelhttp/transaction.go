package semelhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/semel-dev/semel"
)

var (
	errHeldTooLong = errors.New("semelhttp: the answer is longer than MaxHeldBytes, and nothing may go out before the transaction has committed")
	errStreamInTx  = errors.New("semelhttp: a connection cannot change its protocol before the transaction has committed")
	errUncertain   = errors.New("semelhttp: the connection to the database was lost at the commit")
)

// txClaim is a claim whose handler works inside of a transaction.
type txClaim struct {
	*semel.TxClaim
	run      *execution
	unfit    error // why the answer cannot be held back
	panicked bool  // the handler did not return
}

// claim asks the guard in the mode that the options say.
func (m *Middleware) claim(ctx context.Context, key semel.Key, fp semel.Fingerprint) (claim, *semel.Record, error) {
	if m.set.Transactor == nil {
		c, rec, err := m.guard.Begin(ctx, key, fp)
		if c == nil {
			return nil, rec, err
		}
		return c, nil, nil
	}
	c, rec, err := m.guard.BeginTx(ctx, m.set.Transactor, key, fp)
	if c == nil {
		return nil, rec, err
	}
	return &txClaim{TxClaim: c}, nil, nil
}

// Complete commits; an answer that says that it failed is recorded without
// the rows.
func (c *txClaim) Complete(outcome, summary []byte) error {
	if c.failed() {
		return c.Final(outcome, summary)
	}
	return c.TxClaim.Complete(outcome, summary)
}

// CompleteWithout commits; an answer that says that it failed leaves nothing.
func (c *txClaim) CompleteWithout(summary []byte) error {
	if c.failed() {
		return c.Rollback("failed, and the answer was too large to keep")
	}
	return c.TxClaim.CompleteWithout(summary)
}

// Release rolls back.
func (c *txClaim) Release(note string) error { return c.Rollback(note) }

// Detach has nothing to detach: what streams is refused before.
func (c *txClaim) Detach() (end func()) { return func() {} }

// failed reports whether the handler panicked or answered with a 5xx status.
func (c *txClaim) failed() bool {
	return c.panicked || c.run.capture.status >= http.StatusInternalServerError
}

// commit ends the transaction as the answer says, and sends the answer, or
// what became of the transaction.
func (run *execution) commit() {
	c := &run.capture
	err := run.tx.unfit
	var word []string
	if err != nil {
		_ = run.tx.Rollback(err.Error()) // nothing happened, whatever it returns
	} else if word = run.settleAnswer(); run.decision.Outcome == OutcomeNotStored {
		err = run.decision.Err
	}
	if err == nil {
		c.send(word)
		return
	}
	if errors.Is(err, semel.ErrUnknown) {
		err = fmt.Errorf("%w: %w", errUncertain, err)
	}
	c.discard()
	run.refuse(c.under, err)
}
