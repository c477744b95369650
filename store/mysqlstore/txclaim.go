package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

const (
	// lockSlice limits how long one statement waits for a lock; then it is repeated.
	// So one that was left behind in the server is gone soon.
	lockSlice = 2 * time.Second
	// leastPatience is the least time that a claim waits for a lock that is not
	// the one of its digest.
	leastPatience = 100 * time.Millisecond
	// leastWait is the shortest wait where the server cannot be told how long.
	leastWait = time.Second
	// heldUp is after what time a claim takes another fence, where the server
	// cannot be told not to wait.
	heldUp = 5 * time.Millisecond
	// freshStarts limits how often a claim that was held up begins again. Only then
	// does it change its fence in place, which keeps neighbouring digests waiting
	// for the end of the transaction: InnoDB locks the gaps around what a
	// transaction deleted and inserts again.
	freshStarts = 6
)

// errHeldUp is a claim that got its fence before it waited.
var errHeldUp = errors.New("mysqlstore: claim: it was held up")

// seeker looks for the way to claim: an open transaction, or the record there is.
type seeker struct {
	store    *Store
	params   *semel.ClaimParams
	deadline time.Time
	// old is the row that is absent to every verb, and makes room.
	old *semel.Record
	// patience limits how long the next claim waits for locks.
	patience time.Duration
	// heldUp counts the claims that were held up.
	heldUp int
}

// openWith opens a transaction with a claim, or returns the record in
// its way.
//
// The claim does not wait for locks, where the server can be told so. If the
// digest is locked, a read outside of any transaction waits, so that no waiting
// caller holds a lock, and the claim that follows takes its fence after the wait.
func (s *Store) openWith(ctx context.Context, options *sql.TxOptions, p *semel.ClaimParams, wait time.Duration) (rec semel.Record, o *opened, err error) {
	k := seeker{store: s, params: p, deadline: time.Now().Add(wait)}
	look := s.seen.Has(p.Digest)
	locked := false
	for range rounds {
		if look {
			rec, err := k.look(ctx, locked)
			switch {
			case errors.Is(err, semel.ErrNotFound):
				k.old = nil
			case err != nil:
				return semel.Record{}, nil, err
			case !verb.Absent(&rec):
				return rec, nil, nil
			default:
				k.old = &rec
			}
		}
		o, err := k.openClaim(ctx, options)
		switch {
		case err == nil:
			s.seen.Add(p.Digest)
			return semel.Record{}, o, nil
		case ctx.Err() != nil:
			return semel.Record{}, nil, fmt.Errorf("mysqlstore: claim: %w", context.Cause(ctx))
		}
		if locked, err = k.again(ctx, err, locked); err != nil {
			return semel.Record{}, nil, err
		}
		look = true
	}
	return semel.Record{}, nil, fmt.Errorf("%w: mysqlstore: claim: %w again and again", semel.ErrInFlight, errChanged)
}

// again decides what follows an error of a claim: another look, which waits
// for the lock if there was one, or the error.
func (k *seeker) again(ctx context.Context, err error, wasLocked bool) (locked bool, _ error) {
	switch {
	case number(err) == errDuplicateEntry:
		return false, nil
	case errors.Is(err, errHeldUp):
		k.patience = 0
		return false, nil
	case isUndone(err) && backoff.Pause(ctx):
		return wasLocked, nil
	case isLockWait(err) && k.store.ways.bounded:
		if wasLocked { // not by the digest, which was free just now, but by a neighbour of it
			k.patience = min(lockSlice, max(leastPatience, time.Until(k.deadline)))
		}
		return true, nil
	case isLockWait(err) && time.Now().Before(k.deadline):
		return true, nil
	case isLockWait(err):
		return true, fmt.Errorf("%w: mysqlstore: claim: %w", semel.ErrInFlight, err)
	}
	return false, translate("claim", err)
}

// look reads the row of the digest. With locked, it waits for the transaction
// that holds it, and returns [semel.ErrInFlight] when the time is over.
func (k *seeker) look(ctx context.Context, locked bool) (semel.Record, error) {
	if !locked || !k.store.ways.bounded {
		return k.store.find(ctx, k.params.Digest)
	}
	for undone := 0; ; {
		wait := min(lockSlice, time.Until(k.deadline))
		rec, err := k.store.findLocked(ctx, k.store.db, k.params.Digest, wait)
		switch {
		case isUndone(err) && undone < backoff.Tries && backoff.Pause(ctx):
			// By a claim that locks what was deleted of the digest before, or by a
			// row that is newer than the statement's snapshot.
			undone++
		case !isLockWait(err):
			return rec, err
		case wait <= 0 || time.Until(k.deadline) <= 0:
			return rec, fmt.Errorf("%w: mysqlstore: claim: %w", semel.ErrInFlight, err)
		}
	}
}

// findLocked is find with a lock that others' transactions can hold.
func (s *Store) findLocked(ctx context.Context, in Execer, d semel.Digest, wait time.Duration) (rec semel.Record, err error) {
	rows, err := in.QueryContext(ctx, s.waiting(filled(s.tx.find, d[:]), wait))
	if err == nil {
		err = single(rows, func() (err error) {
			rec, err = readRecord(rows)
			return err
		})
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return rec, semel.ErrNotFound
	case err != nil:
		return rec, translate("look up", err)
	}
	s.seen.Add(d)
	return rec, nil
}

// openClaim opens a transaction with the claim. Whatever the error, it is rolled back.
func (k *seeker) openClaim(ctx context.Context, options *sql.TxOptions) (o *opened, err error) {
	s := k.store
	if !s.ways.bounded {
		wait := max(leastWait, time.Until(k.deadline))
		limited, cancel := context.WithTimeoutCause(ctx, wait, errLockTime)
		defer cancel()
		ctx = limited
	}
	o, err = s.openTx(ctx, options, s.txClaim(k.params, k.old, k.patience), func(life context.Context, o *opened) error {
		if !k.late(o.sent) {
			return nil
		}
		if k.heldUp++; k.heldUp > freshStarts {
			return o.refence(life, s, k.params)
		}
		return errHeldUp
	})
	if err != nil && errors.Is(context.Cause(ctx), errLockTime) {
		err = errLockTime
	}
	return o, err
}

// adopt opens a transaction for a claim that was committed before. Its savepoint tells the commit whether the
// transaction is still the same.
func (s *Store) adopt(ctx context.Context, options *sql.TxOptions) (*opened, error) {
	var statements []string
	if !s.txOurs {
		statements = []string{"SAVEPOINT " + savepointName}
	}
	return s.openTx(ctx, options, statements, func(context.Context, *opened) error { return nil })
}

// openTx opens a transaction that begins with the statements, and then. Whatever the error, it is rolled back.
func (s *Store) openTx(
	ctx context.Context, options *sql.TxOptions, statements []string, then func(life context.Context, o *opened) error,
) (o *opened, err error) {
	// The transaction outlives ctx: the end of the work's context ends it.
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	o = &opened{store: s, cancel: cancel}
	if s.txOurs {
		err = o.begin(life, s.txDB, options, statements)
	} else {
		err = o.beginPlain(life, s.txDB, options, statements)
	}
	if err == nil {
		err = then(life, o)
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		if o.tx != nil {
			o.Close()
		}
		cancel()
		return nil, err
	}
	return o, nil
}

// late reports whether others may have claimed, and given up, the digest under
// greater fences since a claim was sent.
func (k *seeker) late(sent time.Time) bool {
	return k.patience > 0 || !k.store.ways.bounded && time.Since(sent) > k.store.slow
}

// begin sends claim and beginning together.
func (o *opened) begin(ctx context.Context, db *sql.DB, options *sql.TxOptions, statements []string) (err error) {
	st := &roundTrip{statements: append([]string{"SAVEPOINT " + savepointName}, statements...)}
	if o.tx, err = db.BeginTx(st.in(ctx), options); err != nil {
		return err
	}
	o.conn, o.sent, o.fence = st.conn, st.sent, fenceOf(st.ids)
	return nil
}

// beginPlain begins on a connection that is not of this package.
func (o *opened) beginPlain(ctx context.Context, db *sql.DB, options *sql.TxOptions, statements []string) (err error) {
	if o.held, err = db.Conn(ctx); err != nil {
		return err
	}
	if o.tx, err = o.held.BeginTx(ctx, options); err != nil {
		discard(o.held) // it may have begun nevertheless
		return errors.Join(err, o.held.Close())
	}
	o.sent = time.Now()
	_, ids, err := txHandle{execer: o.tx}.runAll(ctx, statements...)
	if err != nil {
		return err
	}
	o.fence = fenceOf(ids)
	return nil
}

// refence puts a claim with another fence in the place of the claim.
func (o *opened) refence(ctx context.Context, s *Store, p *semel.ClaimParams) error {
	ids, err := s.refence(ctx, o.Place(), p, o.fence)
	if err == nil {
		o.fence = fenceOf(ids)
	}
	return err
}

func (s *Store) refence(ctx context.Context, in txHandle, p *semel.ClaimParams, fence semel.Fence) (ids []int64, err error) {
	again := filled(s.tx.again, uint64(fence), p.Digest[:])
	_, ids, err = in.runAll(ctx, append([]string{again}, s.txClaim(p, nil, lockSlice)...)...)
	return ids, err
}

// fenceOf is the number that the last statement gave.
func fenceOf(ids []int64) semel.Fence {
	if len(ids) == 0 {
		return 0
	}
	return semel.Fence(ids[len(ids)-1]) //nolint:gosec // fences are positive.
}
