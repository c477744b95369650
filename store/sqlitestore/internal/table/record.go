package table

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/semel-dev/semel"
)

// Find returns a record that has not expired.
func Find(ctx context.Context, in Session, d semel.Digest, now int64) (rec semel.Record, err error) {
	found := false
	err = in.Each(ctx, Lookup, func(row Row) error {
		rec, err = readRecord(row, now)
		found = err == nil && rec.ReadAt.Before(rec.ExpiresAt)
		return err
	}, d[:])
	switch {
	case err != nil:
		return semel.Record{}, err
	case !found:
		return semel.Record{}, semel.ErrNotFound
	}
	return rec, nil
}

// columns are those of lookup.sql and list.sql.
type columns struct {
	fence, attempt, kept, seen          int64
	claimed, settled, lease, expires    int64
	state, scope, name, note            string
	digest, owner, fingerprint, outcome []byte
}

// readRecord turns a row of lookup.sql or list.sql into a record, read at now
// or at what the row's last column says, whichever is later.
func readRecord(row Row, now int64) (rec semel.Record, err error) {
	var c columns
	err = row.Scan(&c.fence, &c.digest, &c.state, &c.attempt, &c.owner, &c.fingerprint,
		&c.claimed, &c.settled, &c.lease, &c.expires, &c.kept, &c.scope, &c.name, &c.note, &c.outcome, &c.seen)
	if err != nil {
		return rec, fmt.Errorf("%w (the file was changed by another program?)", err)
	}
	if len(c.digest) != len(rec.Digest) || len(c.owner) != len(rec.Owner) || len(c.fingerprint) != len(rec.Fingerprint) || c.fence <= 0 {
		return rec, fmt.Errorf("the row of fence %d is not a record (the file was changed by another program?)", c.fence)
	}
	if rec.State, err = stateOf(c.state); err != nil {
		return rec, err
	}
	copy(rec.Digest[:], c.digest)
	copy(rec.Owner[:], c.owner)
	copy(rec.Fingerprint[:], c.fingerprint)
	rec.Fence, rec.Attempt, rec.Kept = semel.Fence(c.fence), int(c.attempt), c.kept != 0
	rec.Scope, rec.Name, rec.Note = c.scope, c.name, c.note
	if rec.Kept || len(c.outcome) > 0 {
		rec.Outcome = c.outcome
	}
	if rec.Kept && rec.Outcome == nil {
		rec.Outcome = []byte{}
	}
	rec.ClaimedAt, rec.LeaseUntil, rec.ExpiresAt = moment(c.claimed), moment(c.lease), moment(c.expires)
	if c.settled != 0 {
		rec.SettledAt = moment(c.settled)
	}
	rec.ReadAt = moment(max(now, c.seen))
	return rec, nil
}

// Repeated reports whether the claim found is the caller's own, whose reply
// was lost.
func Repeated(rec *semel.Record, p *semel.ClaimParams) bool {
	return rec.State == semel.StateClaimed && !rec.Lapsed() && rec.Owner == p.Owner && p.Owner != semel.Owner{}
}

// settled compares a settlement with the record it is meant for: done when it
// was made before, an error when it cannot be made.
func settled(rec *semel.Record, f semel.Fence, v *semel.Settlement) (done bool, err error) {
	same := rec.State == v.State && rec.Kept == v.Kept && bytes.Equal(rec.Outcome, v.Outcome)
	switch {
	case rec.Fence != f:
		return false, semel.ErrLost
	case same:
		return true, nil
	case rec.State == semel.StateCompleted || rec.State == semel.StateCancelled:
		return false, semel.ErrSettled
	}
	return false, nil
}

// column is the fence as SQLite stores it; 0, which no record has, for a
// number that was never given.
func column(f semel.Fence) int64 {
	if f > math.MaxInt64 {
		return 0
	}
	return int64(f)
}

// moment is a column of milliseconds as records have it.
func moment(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// flag is a truth value as SQLite has it, whatever the driver makes of one.
func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// stateOf reads the word of a state.
func stateOf(word string) (semel.State, error) {
	for _, s := range []semel.State{semel.StateClaimed, semel.StateCompleted, semel.StateUnknown, semel.StateCancelled} {
		if s.String() == word {
			return s, nil
		}
	}
	return semel.StateAbsent, fmt.Errorf("%w (or another program changed the file: no record is in state %q)", semel.ErrNewerRecord, word)
}

// words lists the states the way list.sql looks for them.
func words(states []semel.State) string {
	if len(states) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteByte(',')
	for _, s := range states {
		b.WriteString(s.String())
		b.WriteByte(',')
	}
	return b.String()
}
