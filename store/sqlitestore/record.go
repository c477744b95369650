package sqlitestore

import (
	"database/sql/driver"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/internal/record"
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
	if rec.State, err = record.State(state); err != nil {
		return rec, err
	}
	rec.Fence = semel.Fence(fence)
	rec.Attempt = int(attempt)
	rec.Kept = kept != 0
	rec.Outcome = outcome
	if rec.Kept && outcome == nil {
		rec.Outcome = []byte{}
	}
	rec.ClaimedAt, rec.LeaseUntil, rec.ExpiresAt = record.Time(claimed), record.Time(lease), record.Time(expires)
	if settled != 0 {
		rec.SettledAt = record.Time(settled)
	}
	rec.ReadAt = record.Time(max(now, seen))
	return rec, nil
}
