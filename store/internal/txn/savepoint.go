package txn

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/semel-dev/semel"
)

// Savepoint is a claim inside of an open transaction: one of the store, or one
// of the caller's. It commits with that one. It implements [semel.Tx].
type Savepoint[P comparable] struct {
	shared *Transactions[P]
	parent *Work[P] // the transaction around it

	work  *Work[P] // nil unless it is open
	claim Claimed
	name  string
}

// Within returns a savepoint in an open transaction.
func (s *Transactions[P]) Within(parent *Work[P]) *Savepoint[P] {
	return &Savepoint[P]{shared: s, parent: parent}
}

// Claim implements [semel.Tx].
func (p *Savepoint[P]) Claim(ctx context.Context, c semel.ClaimParams, wait time.Duration) (rec semel.Record, won bool, err error) {
	if err := c.Validate(); err != nil {
		return semel.Record{}, false, err
	}
	if err := p.shared.DB.Enter(ctx, "claim"); err != nil {
		return semel.Record{}, false, err
	}
	defer p.shared.DB.Leave()
	if p.work != nil {
		return semel.Record{}, false, p.shared.errorf("claim: the savepoint was used before")
	}
	if err := p.parent.enter(); errors.Is(err, errNested) {
		return semel.Record{}, false, p.shared.errorf("claim: %w", err)
	} else if err != nil {
		return semel.Record{}, false, err
	}
	rec, won, err = p.claimIn(ctx, &c, wait)
	if err != nil || !won {
		p.parent.leave()
		return rec, false, err
	}
	return Won(&c, rec.Fence), true, nil
}

// claimIn sets the savepoint, and leaves it set when the claim was won.
func (p *Savepoint[P]) claimIn(ctx context.Context, c *semel.ClaimParams, wait time.Duration) (rec semel.Record, won bool, err error) {
	outer, depth := workFrom[P](ctx), 1
	if outer != nil {
		depth = outer.depth + 1
	}
	p.name = "semel" + strconv.Itoa(depth)
	if err := p.shared.DB.Save(ctx, p.parent.Place, p.name); err != nil {
		return rec, false, err
	}
	rec, won, err = p.shared.DB.Claim(ctx, p.parent.Place, c, wait)
	if err != nil || !won {
		p.noteUndone(err)
		p.undo(ctx)
		return rec, false, err
	}
	p.claim = Claimed{Params: *c, Fence: rec.Fence}
	p.work = &Work[P]{Place: p.parent.Place, store: p.shared.Store, outer: outer, parent: p.parent, depth: depth}
	return rec, true, nil
}

// Context implements [semel.Tx].
func (p *Savepoint[P]) Context(ctx context.Context) context.Context { return p.work.in(ctx) }

// Commit implements [semel.Tx]: the record is kept if the transaction around it
// commits.
func (p *Savepoint[P]) Commit(ctx context.Context, v semel.Settlement) error {
	if err := p.shared.check(&v); err != nil {
		return err
	}
	if p.work == nil {
		return p.shared.errorf("commit: nothing was claimed in this transaction")
	}
	if err := p.shared.DB.Settle(ctx, p.parent.Place, &p.claim, &v, p.name); err != nil {
		if errors.Is(err, semel.ErrLost) || errors.Is(err, sql.ErrTxDone) {
			err = fmt.Errorf("%w: %w", semel.ErrLost, p.shared.errorf("commit: the enclosing transaction ended before the work did"))
			p.parent.undo(err)
		} else {
			p.noteUndone(err)
			err = fmt.Errorf("%w: %w", semel.ErrRolledBack, p.shared.DB.Translate("commit", err))
		}
		_ = p.Rollback() //nolint:contextcheck // it has a bound of its own; where the record alone is gone, it takes the rows back.
		return err
	}
	p.parent.keep(p.close(ctx, false)...)
	if v.State == semel.StateUnknown {
		p.parent.keep(Mark{p.claim.Params, v})
	}
	return nil
}

// Conflict implements [semel.Tx]. Only the transaction as a whole can run
// again: it takes no further intent.
func (p *Savepoint[P]) Conflict(err error) bool {
	p.noteUndone(err)
	return p.shared.DB.Undone(err)
}

// noteUndone remembers an error after which the server has rolled back everything.
func (p *Savepoint[P]) noteUndone(err error) {
	if p.shared.DB.Undone(err) {
		p.parent.undo(p.shared.errorf("the transaction around it has to begin again: %w", err))
	}
}

// Rollback implements [semel.Tx]. It undoes what happened since the claim, and
// leaves the transaction around it open. What became unknown since is recorded
// once more: here, or, where the transaction has ended, after its end.
func (p *Savepoint[P]) Rollback() error {
	ctx, cancel := context.WithTimeout(context.Background(), p.shared.Timeout)
	defer cancel()
	marks := p.close(ctx, true)
	for _, m := range marks {
		rec, won, err := p.shared.DB.Claim(ctx, p.parent.Place, &m.Params, p.shared.Timeout)
		if err == nil && won {
			_ = p.shared.DB.Settle(ctx, p.parent.Place, &Claimed{Params: m.Params, Fence: rec.Fence}, &m.Settlement, "")
		}
	}
	p.parent.keep(marks...)
	return nil
}

// close ends the savepoint, and returns what became unknown inside of it.
func (p *Savepoint[P]) close(ctx context.Context, undo bool) []Mark {
	if p.work == nil {
		return nil
	}
	if undo {
		p.undo(ctx)
	}
	marks := p.work.close()
	p.work = nil
	p.parent.leave()
	return marks
}

// undo goes back to the savepoint. Where there is none any more, the server has
// rolled back the transaction.
func (p *Savepoint[P]) undo(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.shared.Timeout)
	defer cancel()
	p.shared.DB.Undo(ctx, p.parent.Place, p.name)
}
