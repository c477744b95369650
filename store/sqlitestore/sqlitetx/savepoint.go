package sqlitetx

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/internal/result"
)

// savepoint is a claim inside of a transaction that is open: one of this
// store, or one of the caller's. It commits with that one.
type savepoint struct {
	store *Store
	outer *work // the store's transaction around it; nil in one of the caller's
	in    session
	tx    *sql.Tx // what the work gets; nil where the caller's handle is another one

	step   step
	work   *work // while it is open
	params semel.ClaimParams
	fence  semel.Fence
	name   string
}

// Claim implements [semel.Tx].
func (p *savepoint) Claim(ctx context.Context, c semel.ClaimParams, wait time.Duration) (rec semel.Record, won bool, err error) {
	if err := c.Validate(); err != nil {
		return semel.Record{}, false, err
	}
	if err := p.store.begun(ctx, "claim"); err != nil {
		return semel.Record{}, false, err
	}
	defer p.store.gate.Leave()
	if p.work != nil {
		return semel.Record{}, false, errors.New("sqlitetx: claim: the savepoint is in use")
	}
	if err := p.outer.enter(); err != nil {
		return semel.Record{}, false, err
	}
	c.TakeOver = 0
	rec, won, err = p.claim(ctx, &c, wait)
	if err != nil || !won {
		p.outer.leave()
	}
	switch {
	case result.IsStale(err):
		return semel.Record{}, false, fmt.Errorf("sqlitetx: claim: the transaction reads what others have overwritten (roll it back and begin again, with BEGIN IMMEDIATE or by joining first): %w", err)
	case result.IsBusy(err):
		return semel.Record{}, false, fmt.Errorf("%w: %w: %w", semel.ErrInFlight, errBusy, err)
	case err != nil:
		return semel.Record{}, false, p.store.translate("claim", err)
	}
	return rec, won, nil
}

// claim sets the savepoint, and leaves it set when the claim was won.
func (p *savepoint) claim(ctx context.Context, c *semel.ClaimParams, wait time.Duration) (rec semel.Record, won bool, err error) {
	quiet := context.WithoutCancel(ctx)
	depth := 1
	if outer := workFrom(ctx); outer != nil {
		depth = outer.depth + 1
	}
	p.name = fmt.Sprintf("semel_%d", depth)
	if err := p.store.mustBeOpen(quiet, p.in); err != nil {
		return rec, false, err
	}
	if err := p.run(quiet, "SAVEPOINT "); err != nil {
		return rec, false, err
	}
	p.step = p.store.step(p.in)
	if err = p.lock(ctx, wait); err == nil {
		rec, won, err = p.step.Claim(quiet, c)
	}
	if err != nil || !won {
		p.undo(quiet)
		return rec, false, err
	}
	p.params, p.fence = *c, rec.Fence
	p.work = &work{store: p.store, outer: workFrom(ctx), in: p.in, tx: p.tx, depth: depth}
	return rec, true, nil
}

// lock takes the write lock, which only a transaction of the caller's may lack.
func (p *savepoint) lock(ctx context.Context, wait time.Duration) error {
	if p.outer != nil {
		return p.step.lock(context.WithoutCancel(ctx))
	}
	return atOnce(ctx, p.in, func(ctx context.Context) error {
		until, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		err := untilFree(until, func() error { return p.step.lock(context.WithoutCancel(ctx)) })
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	})
}

// mustBeOpen refuses a handle without an open transaction, such as a pool:
// its statements would be committed one by one. SQLite has no question for it,
// but it refuses this pragma, which changes nothing, inside of a transaction only.
func (s *Store) mustBeOpen(ctx context.Context, in Execer) error {
	if _, err := in.ExecContext(ctx, fmt.Sprintf("PRAGMA synchronous = %d", s.synchronous)); err != nil {
		return nil //nolint:nilerr // it is how SQLite says so; whatever else is wrong, the next statement meets it.
	}
	return errors.New("there is no open transaction in the handle that was given (begin one, and hand over that; or SQLite has ended it on an error)")
}

// Context implements [semel.Tx].
func (p *savepoint) Context(ctx context.Context) context.Context {
	if p.work == nil {
		return ctx
	}
	return context.WithValue(ctx, workKey{}, p.work)
}

// Commit implements [semel.Tx]: the record is kept if the transaction around
// it commits.
func (p *savepoint) Commit(ctx context.Context, v semel.Settlement) error {
	if err := names.Settlement(&v); err != nil {
		return err
	}
	if p.work == nil {
		return errNoClaim
	}
	ctx = context.WithoutCancel(ctx)
	p.step.Now = p.store.clock.Read(p.step.Now)
	err := p.step.Complete(ctx, p.params.Digest, p.fence, &v)
	if err == nil {
		err = p.run(ctx, "RELEASE ")
	}
	if err != nil {
		p.close(ctx, true)
		if errors.Is(err, semel.ErrLost) || errors.Is(err, sql.ErrTxDone) {
			return fmt.Errorf("%w: sqlitetx: commit: the transaction around it has ended under the work", semel.ErrLost)
		}
		return fmt.Errorf("%w: %w", semel.ErrRolledBack, p.store.translate("commit", err))
	}
	outer := p.outer
	for _, m := range p.close(ctx, false) {
		outer.keep(m)
	}
	if v.State == semel.StateUnknown {
		outer.keep(mark{p.params, v})
	}
	return nil
}

// Conflict implements [semel.Tx]: only the transaction as a whole can run again.
func (p *savepoint) Conflict(error) bool { return false }

// Rollback implements [semel.Tx]. It undoes what happened since the claim, and
// leaves the transaction around it open.
func (p *savepoint) Rollback() error {
	ctx := context.Background()
	for _, m := range p.close(ctx, true) {
		again := p.store.step(p.in)
		err := again.lock(ctx)
		if err == nil {
			_, err = again.record(ctx, &m)
		}
		if err != nil {
			continue // the transaction has ended, and its end will tell
		}
		p.outer.keep(m)
	}
	return nil
}

// close ends the savepoint, and hands over what became unknown inside of it.
func (p *savepoint) close(ctx context.Context, undo bool) []mark {
	if p.work == nil {
		return nil
	}
	if undo {
		p.undo(ctx)
	}
	marks := p.work.close()
	p.work = nil
	p.outer.leave()
	return marks
}

// undo goes back to the savepoint. Its only error is that there is none any
// more: SQLite has rolled back the transaction.
func (p *savepoint) undo(ctx context.Context) {
	_ = p.run(ctx, "ROLLBACK TO ")
	_ = p.run(ctx, "RELEASE ")
}

func (p *savepoint) run(ctx context.Context, what string) error {
	_, err := p.in.ExecContext(ctx, what+p.name)
	return err
}
