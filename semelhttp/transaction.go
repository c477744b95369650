package semelhttp

import (
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
)

var (
	errNoRoom      = fmt.Errorf("%w: semelhttp: the answers that are held back fill MaxCapturedBytes", semel.ErrRolledBack)
	errHeldTooLong = errors.New("semelhttp: the answer is longer than MaxHeldBytes, and nothing may go out before the transaction has committed")
	errStreamInTx  = errors.New("semelhttp: a connection cannot change its protocol before the transaction has committed")
	errUncertain   = errors.New("semelhttp: the connection to the database was lost at the commit")
)

// txClaim is a claim whose handler works inside a transaction.
type txClaim struct {
	*semel.TxClaim
	failed bool // the handler panicked or answered with a 5xx status
}

// Complete commits; an answer that says that it failed is recorded without
// the rows.
func (c *txClaim) Complete(outcome, summary []byte) error {
	if c.failed {
		return c.Final(outcome, summary)
	}
	return c.TxClaim.Complete(outcome, summary)
}

// CompleteWithout commits; an answer that says that it failed leaves nothing.
func (c *txClaim) CompleteWithout(summary []byte) error {
	if c.failed {
		return c.Rollback("failed, and the answer was too large to keep")
	}
	return c.TxClaim.CompleteWithout(summary)
}

// Release rolls back.
func (c *txClaim) Release(note string) error { return c.Rollback(note) }

// Detach has nothing to detach: what streams is refused before.
func (c *txClaim) Detach() *semel.Detached { return nil }
