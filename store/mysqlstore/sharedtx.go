package mysqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/envelope"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/store/internal/together"
	"github.com/semel-dev/semel/store/internal/txn"
	"github.com/semel-dev/semel/store/internal/verb"
)

var (
	_ semel.Tx         = (*sharedTx)(nil)
	_ semel.Transactor = (*runner)(nil)

	errNotSQL = errors.New("mysqlstore: run: the transaction around this one was joined by a handle that is no *sql.Tx (make the statements with that handle, in Join)")
)

// runner opens the transactions of one call of [Run].
type runner struct {
	store   *Store
	queries []Query
	values  [][]driver.Value // their arguments
	shares  bool             // the next transaction, with others
	// atCommit: all of that one happens at its commit, and its outcome is the result.
	atCommit bool
	shared   *sharedTx // the present transaction, if it was to be shared
	tried    bool      // one that was shared has been undone
}

// Transaction implements [semel.Transactor]. What follows a shared one goes alone.
func (t *runner) Transaction(ctx context.Context) (semel.Tx, error) {
	alone, err := t.store.Transactor(nil).Transaction(ctx)
	t.shared = nil
	if err != nil || !t.shares {
		return alone, err
	}
	t.shares = false
	t.shared = &sharedTx{Tx: alone, runner: t, whole: t.atCommit}
	return t.shared, nil
}

// results returns those of the statements: made already, or made now. A call that
// fails or takes long after a shared transaction was undone goes alone for a while: it
// may have caused the undo.
func (t *runner) results(ctx context.Context) ([]Result, error) {
	if t.shared != nil && t.shared.member != nil {
		return t.shared.results, nil
	}
	tx := TxFrom(ctx)
	if tx == nil {
		return nil, errNotSQL
	}
	began := time.Now()
	results, err := exec(ctx, tx, t.queries)
	if t.tried && (err != nil || time.Since(began) > togetherRun) {
		t.separate()
	}
	return results, err
}

// separate has the statements go alone for a while.
func (t *runner) separate() {
	for _, q := range t.queries {
		t.store.runs.Separate(q.SQL)
	}
}

// sharedTx is a transaction that is shared with other calls of [Run], or, after
// [together.ErrAlone], one of its own.
type sharedTx struct {
	semel.Tx // its own
	*runner

	whole   bool // it joins the queue at its commit
	params  semel.ClaimParams
	kept    time.Duration // the retention, of one that joins then
	member  *member       // nil when it goes alone
	results []Result
	fence   semel.Fence
	bytes   int // of the outcome
}

// Claim implements [semel.Tx].
func (r *sharedTx) Claim(ctx context.Context, p semel.ClaimParams, wait time.Duration) (rec semel.Record, won bool, err error) {
	if err := p.Validate(); err != nil {
		return rec, false, err
	}
	if err := r.store.gate.Enter("claim", verb.Writes); err != nil {
		return rec, false, err
	}
	defer r.store.gate.Leave()
	if r.params = p; r.whole {
		return txn.Won(&p, 0), true, nil
	}
	m := together.NewMember(ctx, r)
	switch err := r.store.runs.Join(m); {
	case err == nil:
		r.member = m
		return txn.Won(&p, 0), true, nil
	case !errors.Is(err, together.ErrAlone):
		return rec, false, translate("claim", err)
	}
	r.tried = true
	rec, won, err = r.Tx.Claim(ctx, p, wait)
	r.fence = rec.Fence
	return rec, won, err
}

// Context implements [semel.Tx].
func (r *sharedTx) Context(ctx context.Context) context.Context {
	if r.member != nil {
		return ctx
	}
	return r.Tx.Context(ctx)
}

// Commit implements [semel.Tx].
func (r *sharedTx) Commit(ctx context.Context, v semel.Settlement) error {
	if r.member == nil && !r.whole {
		r.bytes = len(v.Outcome)
		return r.Tx.Commit(ctx, v)
	}
	err := r.commit(ctx, &v)
	switch {
	case err == nil:
		r.store.seen.Add(r.params.Digest)
		return nil
	case errors.Is(err, together.ErrAlone):
		r.tried = true
		return fmt.Errorf("%w: mysqlstore: commit: %w", semel.ErrRolledBack, err)
	}
	return translate("commit", err) // the outcome is unknown
}

// commit commits with others. After [together.ErrAlone] nothing happened.
func (r *sharedTx) commit(ctx context.Context, v *semel.Settlement) error {
	if err := r.store.checkSettlement(v); err != nil {
		return fmt.Errorf("%w: %w", semel.ErrRolledBack, err)
	}
	if r.whole {
		if err := r.store.gate.Enter("commit", verb.Writes); err != nil {
			return fmt.Errorf("%w: %w", semel.ErrRolledBack, err)
		}
		defer r.store.gate.Leave()
		r.kept = v.Retention
		return r.store.runs.Join(together.NewMember(ctx, r))
	}
	if r.bytes = len(v.Outcome); r.bytes > togetherBytes {
		r.separate()
		return together.ErrAlone
	}
	m := r.member
	r.member = nil // it has voted
	return m.Commit(ctx, v)
}

// vote is the settlement of one that joins the queue at its commit.
func (r *sharedTx) vote() *semel.Settlement {
	outcome := must.Get(envelope.Of(r.results[0]))
	r.bytes = len(outcome)
	return &semel.Settlement{State: semel.StateCompleted, Outcome: outcome, Kept: true, Retention: r.kept}
}

// Recorded returns what was recorded, for the guard, once Commit has returned nil.
func (r *sharedTx) Recorded() (semel.Fence, int) { return r.fence, r.bytes }

// Conflict implements [semel.Tx].
func (r *sharedTx) Conflict(err error) bool {
	return errors.Is(err, together.ErrAlone) || r.Tx.Conflict(err)
}

// Rollback implements [semel.Tx].
func (r *sharedTx) Rollback() error {
	if r.member != nil {
		r.member.Refuse()
		r.member = nil
	}
	return r.Tx.Rollback()
}
