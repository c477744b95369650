package semelgrpc

import (
	"errors"

	"github.com/semel-dev/semel"
)

var errCommitUnknown = errors.New("semelgrpc: the connection to the database was lost at the commit")

// txClaim is a claim whose handler works inside a transaction.
type txClaim struct {
	*semel.TxClaim
	failed bool // the handler returned an error
}

// Complete commits; an answer that is an error is recorded without the rows.
func (c *txClaim) Complete(outcome, summary []byte) error {
	if c.failed {
		return c.Final(outcome, summary)
	}
	return c.TxClaim.Complete(outcome, summary)
}

// CompleteWithout commits; an answer that is an error is recorded without the rows.
func (c *txClaim) CompleteWithout(summary []byte) error {
	if c.failed {
		return c.Final(nil, summary)
	}
	return c.TxClaim.CompleteWithout(summary)
}

// Release rolls back.
func (c *txClaim) Release(note string) error { return c.Rollback(note) }
