package mysqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/transition"
	"github.com/semel-dev/semel/store/internal/verb"
)

// Claim implements [semel.Store]. A new intent takes one round trip, a duplicate one or two, a takeover some more.
func (s *Store) Claim(ctx context.Context, p semel.ClaimParams) (rec semel.Record, won bool, err error) {
	if err := p.Validate(); err != nil {
		return semel.Record{}, false, err
	}
	if err := s.gate.Enter("claim", verb.Writes); err != nil {
		return semel.Record{}, false, err
	}
	defer s.gate.Leave()
	rec, won, err = s.claim(ctx, &p)
	if err != nil {
		return semel.Record{}, false, s.whyBroken(ctx, err)
	}
	return rec, won, nil
}

// whyBroken tells a server that has become read-only, each of whose connections the driver drops, from one that is away.
func (s *Store) whyBroken(ctx context.Context, err error) error {
	if !errors.Is(err, driver.ErrBadConn) {
		return err
	}
	srv, unknown := inspect(ctx, s.db, s.dialect)
	if unknown != nil {
		return err
	}
	if unfit := srv.refuse(false); unfit != nil {
		return verb.Refused(fmt.Errorf("mysqlstore: claim: %w", unfit))
	}
	return err
}

// errChanged: the row is no longer as it was read.
var errChanged = errors.New("the row has changed")

// claim inserts a row, or reads the one there is and, where the contract says so, puts a new one in its place. Each step decides
// on its own; when another caller came between two of them, it begins again.
func (s *Store) claim(ctx context.Context, p *semel.ClaimParams) (rec semel.Record, won bool, err error) {
	look := s.seen.Has(p.Digest)
	for range rounds {
		if look {
			rec, err = s.find(ctx, p.Digest)
			switch {
			case errors.Is(err, semel.ErrNotFound):
			case err != nil:
				return rec, false, err
			default:
				answer := verb.Claim(&rec, p)
				if answer == transition.NotWon || answer == transition.Repeated {
					return rec, answer == transition.Repeated, nil
				}
				rec, err = s.replace(ctx, answer, &rec, p)
				if errors.Is(err, errChanged) {
					continue
				}
				return rec, err == nil, err
			}
		}
		rec, err = s.insert(ctx, p)
		if number(err) != errDuplicateEntry {
			break
		}
		look = true
	}
	if err != nil {
		return rec, false, translate("claim", err)
	}
	s.seen.Add(p.Digest)
	return rec, true, nil
}

// insert claims a digest that has no row.
func (s *Store) insert(ctx context.Context, p *semel.ClaimParams) (rec semel.Record, err error) {
	err = retry(ctx, func() error {
		fence, claimedMS, err := s.insertRow(ctx, nil, p, 1)
		rec = verb.Won(p, fence, claimedMS, 1)
		return err
	})
	return rec, err
}

// insertRow inserts a claim by the shortest way this server and this pool have, in a transaction if one is given.
func (s *Store) insertRow(ctx context.Context, tx *sql.Tx, p *semel.ClaimParams, attempt int) (fence, claimedMS int64, err error) {
	args := make([]any, claimArgs)
	fillClaim(args, p, attempt)
	found := false
	read := func(rows *sql.Rows) error {
		found = true
		return rows.Scan(&fence, &claimedMS)
	}
	switch {
	case s.ways.returning:
		err = s.stmts.each(ctx, tx, "claim", 1, args, read)
	case s.ways.together && tx == nil:
		var rows *sql.Rows
		if rows, err = s.db.QueryContext(ctx, s.claimTogether, args...); err == nil {
			err = readAll(rows, func() error { return read(rows) })
		}
	default:
		var res sql.Result
		if res, err = s.stmts.exec(ctx, tx, "claim", 1, args...); err == nil {
			fence, err = res.LastInsertId()
		}
		if err == nil {
			err = s.stmts.each(ctx, tx, "claimed", 1, []any{fence}, read)
		}
	}
	if err == nil && !found {
		err = errors.New("the row that was inserted is gone (was the table changed by another program?)")
	}
	return fence, claimedMS, err
}

// replace claims a digest whose row is absent to every verb, or is the one to
// take over: it deletes the row and inserts another in one transaction.
func (s *Store) replace(ctx context.Context, answer transition.ClaimAnswer, old *semel.Record, p *semel.ClaimParams) (rec semel.Record, err error) {
	name, attempt := "replace_absent", 1
	if answer == transition.TakenOver {
		name, attempt = "replace_former", old.Attempt+1
	}
	wanted := []statement{{name, 1}, {"claim", 1}}
	if !s.ways.returning {
		wanted = append(wanted, statement{"claimed", 1})
	}
	if err := s.stmts.ready(ctx, wanted...); err != nil {
		return rec, translate("claim", err)
	}
	err = retry(ctx, func() error {
		rec, err = s.replaceOnce(ctx, name, old, p, attempt)
		return err
	})
	switch {
	case err == nil, errors.Is(err, errChanged):
		return rec, err
	case number(err) == errDuplicateEntry:
		return rec, errChanged
	}
	return rec, translate("claim", err)
}

func (s *Store) replaceOnce(ctx context.Context, name string, old *semel.Record, p *semel.ClaimParams, attempt int) (rec semel.Record, err error) {
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		res, err := s.stmts.exec(ctx, tx, name, 1, uint64(old.Fence), old.Digest[:])
		if err != nil {
			return err
		}
		deleted, err := res.RowsAffected()
		if err != nil {
			return err
		}
		if deleted == 0 {
			return errChanged
		}
		fence, claimedMS, err := s.insertRow(ctx, tx, p, attempt)
		if err != nil {
			return err
		}
		switch {
		case claimedMS < freeFrom(old): // the clock was set back between the two statements
			return errChanged
		case attempt > 1 && claimedMS >= old.ExpiresAt.UnixMilli(): // what is taken over has expired between them
			return errChanged
		}
		rec = verb.Won(p, fence, claimedMS, attempt)
		return nil
	})
	return rec, err
}

// inTransaction runs statements that commit together, or not at all when one returns an error. The connection goes back to the
// pool only when no transaction can be open on it.
func (s *Store) inTransaction(ctx context.Context, statements func(tx *sql.Tx) error) error {
	held, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	committed := false
	tx, err := held.BeginTx(ctx, nil)
	defer func() {
		if !committed && (tx == nil || tx.Rollback() != nil) {
			discard(held) // it may be open still
		}
		_ = held.Close() // it only gives it back
	}()
	if err != nil {
		return err
	}
	if err := statements(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	committed = true
	return nil
}

// freeFrom is when the row makes room for another claim, in milliseconds of the database's clock (promise 9).
func freeFrom(old *semel.Record) int64 {
	switch absent := verb.Absent(old); {
	case old.State == semel.StateReleased, old.State == semel.StateUnknown && !absent:
		return 0
	case absent:
		return old.ExpiresAt.UnixMilli()
	}
	return old.LeaseUntil.UnixMilli()
}

// claimArgs is the number of arguments of claim_row.sql.
const claimArgs = 9

func fillClaim(args []any, p *semel.ClaimParams, attempt int) {
	lease, retention := p.Lease.Milliseconds(), p.Retention.Milliseconds()
	args[0], args[1], args[2], args[3] = p.Digest[:], attempt, p.Owner[:], p.Fingerprint[:]
	args[4], args[5], args[6] = lease, lease+retention, retention
	args[7], args[8] = []byte(p.Scope), []byte(p.Name)
}
