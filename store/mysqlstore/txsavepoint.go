package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
)

// savepoint is a claim inside of a transaction that is open: one of this
// store, or one of the caller's. It commits with that one.
type savepoint struct {
	store  *Store
	parent *work // the transaction around it
	place  place
	// doubtful says that it is not known whether a transaction is open.
	doubtful bool

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
	if err := p.store.beginChange(); err != nil {
		return semel.Record{}, false, err
	}
	defer p.store.end()
	if p.work != nil {
		return semel.Record{}, false, errUsed
	}
	if err := p.parent.enter(); err != nil {
		return semel.Record{}, false, err
	}
	rec, won, err = p.claim(ctx, &c, wait)
	if err != nil || !won {
		p.parent.leave()
	}
	return rec, won, err
}

// claim sets the savepoint, and leaves it set when the claim was won.
func (p *savepoint) claim(ctx context.Context, c *semel.ClaimParams, wait time.Duration) (rec semel.Record, won bool, err error) {
	depth := 1
	if outer := workFrom(ctx); outer != nil {
		depth = outer.depth + 1
	}
	p.name = fmt.Sprint(savepointName, depth)
	if err := p.set(ctx); err != nil {
		return rec, false, err
	}
	k := seeker{store: p.store, params: c, deadline: time.Now().Add(wait)}
	rec, fence, err := k.seek(ctx, p.place)
	if err != nil || fence == 0 {
		p.note(err)
		p.undo(ctx)
		return rec, false, err
	}
	p.params, p.fence = *c, fence
	p.work = &work{store: p.store, outer: workFrom(ctx), parent: p.parent, place: p.place, depth: depth}
	return wonRecord(c, fence), true, nil
}

// set sets the savepoint.
func (p *savepoint) set(ctx context.Context) error {
	if _, _, err := p.place.run(ctx, "SAVEPOINT "+p.name); err != nil {
		return translate("claim", err)
	}
	if !p.doubtful {
		return nil
	}
	// Outside of a transaction, a savepoint is gone as soon as it is set.
	_, _, err := p.place.run(ctx, "ROLLBACK TO SAVEPOINT "+p.name)
	switch {
	case number(err) == errNoSavepoint:
		return errors.New("mysqlstore: join: there is no open transaction in the handle that was given (begin one, and hand over that)")
	case err != nil:
		return translate("claim", err)
	}
	return nil
}

// seek claims in an open transaction, or returns the record that stands in the
// way. A claim that waited takes another fence when it has the lock.
func (k *seeker) seek(ctx context.Context, in place) (rec semel.Record, fence semel.Fence, err error) {
	for range rounds {
		began := time.Now()
		_, ids, err := in.run(ctx, k.store.txClaim(k.params, k.old, k.patience)...)
		if err == nil && k.late(began) {
			ids, err = k.store.refence(ctx, in, k.params, fenceOf(ids))
		}
		if err == nil {
			return rec, fenceOf(ids), nil
		}
		left := time.Until(k.deadline)
		switch {
		case number(err) == errDuplicateEntry:
		case isLockWait(err) && left > 0:
			k.patience = min(lockSlice, left)
			continue
		case isLockWait(err):
			return rec, 0, fmt.Errorf("%w: mysqlstore: claim: %w", semel.ErrInFlight, err)
		default:
			return rec, 0, translate("claim", err)
		}
		rec, err = k.store.findLocked(ctx, in.execer, k.params.Digest, max(left, 0))
		switch {
		case errors.Is(err, semel.ErrNotFound):
			k.old = nil
		case isLockWait(err):
			return rec, 0, fmt.Errorf("%w: mysqlstore: claim: %w", semel.ErrInFlight, err)
		case err != nil:
			return rec, 0, err
		case !absent(&rec):
			return rec, 0, nil
		default:
			k.old = &rec
		}
	}
	return rec, 0, fmt.Errorf("%w: mysqlstore: claim: %w again and again", semel.ErrInFlight, errChanged)
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
	if err := p.store.checkEnd(&v); err != nil {
		return err
	}
	if p.work == nil {
		return errNoClaim
	}
	var changed int64
	var err error
	if p.store.fits(&v) {
		var rows []int64
		rows, _, err = p.place.run(ctx, p.store.settleText(p.params.Digest, p.fence, &v))
		if err == nil && len(rows) == 1 {
			changed = rows[0]
		}
	} else {
		changed, err = p.store.settleIn(ctx, p.place.execer, p.params.Digest, p.fence, &v)
	}
	switch {
	case err == nil && changed > 0:
	case err == nil, errors.Is(err, sql.ErrTxDone):
		err := fmt.Errorf("%w: mysqlstore: commit: the transaction around it has ended under the work", semel.ErrLost)
		p.parent.undo(err)
		p.close(ctx, false)
		return err
	default:
		p.note(err)
		p.close(ctx, true)
		return fmt.Errorf("%w: %w", semel.ErrRolledBack, translate("commit", err))
	}
	parent := p.parent
	for _, m := range p.close(ctx, false) {
		parent.keep(m)
	}
	if v.State == semel.StateUnknown {
		parent.keep(mark{p.params, v})
	}
	return nil
}

// Conflict implements [semel.Tx]. Only the transaction as a whole can run
// again: it takes no further intent.
func (p *savepoint) Conflict(err error) bool {
	p.note(err)
	return isTxConflict(err)
}

// note remembers an error after which the server has rolled back everything.
func (p *savepoint) note(err error) {
	if isTxConflict(err) {
		p.parent.undo(fmt.Errorf("mysqlstore: the transaction around it has to begin again: %w", err))
	}
}

// Rollback implements [semel.Tx]. It undoes what happened since the claim, and
// leaves the transaction around it open.
func (p *savepoint) Rollback() error {
	ctx, cancel := context.WithTimeout(context.Background(), resetTimeout)
	defer cancel()
	marks := p.close(ctx, true)
	for _, m := range marks {
		if p.mark(ctx, &m) {
			p.parent.keep(m)
		}
	}
	return nil
}

// mark records once more, in the transaction around it, what became unknown
// since the claim. Where that fails the transaction has ended.
func (p *savepoint) mark(ctx context.Context, m *mark) bool {
	k := seeker{store: p.store, params: &m.params, deadline: time.Now().Add(resetTimeout)}
	_, fence, err := k.seek(ctx, p.place)
	if err != nil || fence == 0 {
		return false
	}
	_, _, err = p.place.run(ctx, p.store.settleText(m.params.Digest, fence, &m.settlement))
	return err == nil
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
	p.parent.leave()
	return marks
}

// undo goes back to the savepoint. Where there is none any more, the server has
// rolled back the transaction.
func (p *savepoint) undo(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resetTimeout)
	defer cancel()
	_, _, _ = p.place.run(ctx, "ROLLBACK TO SAVEPOINT "+p.name)
}
