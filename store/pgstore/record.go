package pgstore

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/semel-dev/semel"
)

// columns are what [row] holds, in its order, of the table called r.
const columns = `r.digest, r.fence, r.state, r.kept, r.attempt, r.owner, r.fingerprint,
  r.claimed_ms, r.settled_ms, r.lease_until_ms, r.expires_ms, r.scope, r.name, r.note, r.outcome`

// row is a row of the table, as it is read.
type row struct {
	digest, owner, fingerprint, outcome                      []byte
	fence, claimedMS, settledMS, leaseUntilMS, expiresMS, ms int64
	attempt                                                  int32
	kept, won                                                bool
	state, scope, name, note                                 string
}

// into are the places of the columns, and of what follows them: whether the row
// was just claimed, and the clock.
func (r *row) into() []any {
	return []any{
		&r.digest, &r.fence, &r.state, &r.kept, &r.attempt, &r.owner, &r.fingerprint,
		&r.claimedMS, &r.settledMS, &r.leaseUntilMS, &r.expiresMS, &r.scope, &r.name, &r.note, &r.outcome,
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

// readMS is the clock when the row was read, but not before what others wrote
// while the statement ran. Where the clock was set back since, it is the clock:
// nothing must seem to have ended by a time that the database, which decides,
// has not reached (promise 9).
func (r *row) readMS() int64 {
	latest := max(r.ms, r.claimedMS, r.settledMS)
	ends := func(end int64) bool { return r.ms < end && end <= latest }
	if ends(r.expiresMS) || r.state == semel.StateClaimed.String() && ends(r.leaseUntilMS) {
		return r.ms
	}
	return latest
}

// record is the row as the contract shows it.
func (r *row) record() (semel.Record, error) {
	rec := semel.Record{
		Scope:      r.scope,
		Name:       r.name,
		Fence:      semel.Fence(r.fence), //nolint:gosec // looked at below.
		Attempt:    int(r.attempt),
		Outcome:    r.outcome,
		Kept:       r.kept,
		Note:       r.note,
		ClaimedAt:  fromMS(r.claimedMS),
		LeaseUntil: fromMS(r.leaseUntilMS),
		ExpiresAt:  fromMS(r.expiresMS),
		ReadAt:     fromMS(r.readMS()),
	}
	if copy(rec.Digest[:], r.digest) != len(r.digest) || copy(rec.Owner[:], r.owner) != len(r.owner) ||
		copy(rec.Fingerprint[:], r.fingerprint) != len(r.fingerprint) || r.fence <= 0 {
		return semel.Record{}, fmt.Errorf("the row of fence %d is not a record (another program changed the table?)", r.fence)
	}
	if r.settledMS != 0 {
		rec.SettledAt = fromMS(r.settledMS)
	}
	if rec.Kept && rec.Outcome == nil {
		rec.Outcome = []byte{}
	}
	var err error
	rec.State, err = parseState(r.state)
	return rec, err
}

// parseState reads the word of a row. A released one is absent to everybody, but
// its row is still there.
func parseState(word string) (semel.State, error) {
	switch word {
	case "completed":
		return semel.StateCompleted, nil
	case "claimed":
		return semel.StateClaimed, nil
	case "unknown":
		return semel.StateUnknown, nil
	case "cancelled":
		return semel.StateCancelled, nil
	case "released":
		return semel.StateReleased, nil
	}
	return semel.StateAbsent, fmt.Errorf("%w (or another program changed the table: no record is in state %q)", semel.ErrNewerRecord, word)
}

// noRow reports whether a statement found nothing.
func noRow(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

func fromMS(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// column is the fence as the table has it; 0, which no record has, for a
// number that was never given.
func column(f semel.Fence) int64 {
	if f > math.MaxInt64 {
		return 0
	}
	return int64(f)
}
