package sqlitestore

import (
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
)

// readRecord turns a row of lookup.sql or list.sql into a record, read at now
// or at what the row's last column says, whichever is later.
func readRecord(row []driver.Value, now int64) (semel.Record, error) {
	var (
		rec                                 semel.Record
		fence, attempt, kept, seen          int64
		claimed, settled, lease, expires    int64
		state                               string
		digest, owner, fingerprint, outcome []byte
	)
	err := scan(row, &fence, &digest, &state, &attempt, &owner, &fingerprint,
		&claimed, &settled, &lease, &expires, &kept, &rec.Scope, &rec.Name, &rec.Note, &outcome, &seen)
	if err != nil {
		return rec, err
	}
	if len(digest) != len(rec.Digest) || len(owner) != len(rec.Owner) || len(fingerprint) != len(rec.Fingerprint) || fence <= 0 {
		return rec, fmt.Errorf("the row of fence %d is not a record (the file was changed by another program?)", fence)
	}
	copy(rec.Digest[:], digest)
	copy(rec.Owner[:], owner)
	copy(rec.Fingerprint[:], fingerprint)
	if rec.State, err = parseState(state); err != nil {
		return rec, err
	}
	rec.Fence = semel.Fence(fence)
	rec.Attempt = int(attempt)
	rec.Kept = kept != 0
	rec.Outcome = outcome
	if rec.Kept && outcome == nil {
		rec.Outcome = []byte{}
	}
	rec.ClaimedAt, rec.LeaseUntil, rec.ExpiresAt = fromMS(claimed), fromMS(lease), fromMS(expires)
	if settled != 0 {
		rec.SettledAt = fromMS(settled)
	}
	rec.ReadAt = fromMS(max(now, seen))
	return rec, nil
}

func parseState(word string) (semel.State, error) {
	for _, s := range []semel.State{semel.StateClaimed, semel.StateCompleted, semel.StateUnknown, semel.StateCancelled} {
		if s.String() == word {
			return s, nil
		}
	}
	return semel.StateAbsent, fmt.Errorf("no record is in state %q (the file was changed by another program?)", word)
}

func expired(rec *semel.Record) bool { return !rec.ReadAt.Before(rec.ExpiresAt) }

func fromMS(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
