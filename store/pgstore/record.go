package pgstore

import (
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// columns lists the fields of [row], in its order, of the table called r.
const columns = `r.digest, r.fence, r.state, r.kept, r.attempt, r.owner, r.fingerprint,
  r.claimed_ms, r.settled_ms, r.lease_until_ms, r.expires_ms, r.scope, r.name, r.note, r.outcome`

// row is a row of the table, as it is read.
type row struct {
	verb.Row

	word string // of the state
	ms   int64
	won  bool
}

// into returns the places of the columns, and of what follows them: whether the
// row was just claimed, and the clock.
func (r *row) into() []any {
	return []any{
		&r.Digest, &r.Fence, &r.word, &r.Kept, &r.Attempt, &r.Owner, &r.Fingerprint,
		&r.ClaimedMS, &r.SettledMS, &r.LeaseUntilMS, &r.ExpiresMS, &r.Scope, &r.Name, &r.Note, &r.Outcome,
		&r.won, &r.ms,
	}
}

// scanRecord reads a record from a row of claim.sql and its like.
func scanRecord(from pgx.Row) (rec semel.Record, won bool, err error) {
	var r row
	if err := from.Scan(r.into()...); err != nil {
		return semel.Record{}, false, err
	}
	rec, err = r.record()
	return rec, r.won, err
}

// readAt is the clock when the row was read, but not before what other
// transactions wrote while the statement ran. Where the clock was set back since,
// it is the clock: nothing must seem to have ended by a time that the database,
// which decides, has not reached (promise 9).
func (r *row) readAt() int64 {
	latest := max(r.ms, r.ClaimedMS, r.SettledMS)
	ends := func(end int64) bool { return r.ms < end && end <= latest }
	if ends(r.ExpiresMS) || r.State == semel.StateClaimed && ends(r.LeaseUntilMS) {
		return r.ms
	}
	return latest
}

// record returns the row as the contract shows it.
func (r *row) record() (rec semel.Record, err error) {
	if r.State, err = verb.State(r.word); err != nil {
		return rec, err
	}
	r.ReadAtMS = r.readAt()
	return r.Record()
}

// noRow reports whether a statement found nothing.
func noRow(err error) bool { return errors.Is(err, pgx.ErrNoRows) }
