package sqlitetx

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/sqlitestore/internal/record"
)

// readRecord turns a row of lookup.sql or list.sql into a record, read at now
// or at what the row's last column says, whichever is later.
func readRecord(row *sql.Rows, now int64) (semel.Record, error) {
	var (
		rec                                 semel.Record
		fence, kept, seen                   int64
		claimed, settled, lease, expires    int64
		state                               string
		digest, owner, fingerprint, outcome []byte
	)
	err := row.Scan(&fence, &digest, &state, &rec.Attempt, &owner, &fingerprint,
		&claimed, &settled, &lease, &expires, &kept, &rec.Scope, &rec.Name, &rec.Note, &outcome, &seen)
	if err != nil {
		return rec, fmt.Errorf("%w (the file was changed by another program?)", err)
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
	rec.Kept = kept != 0
	if rec.Kept || len(outcome) > 0 {
		rec.Outcome = append([]byte{}, outcome...)
	}
	rec.ClaimedAt, rec.LeaseUntil, rec.ExpiresAt = record.Time(claimed), record.Time(lease), record.Time(expires)
	if settled != 0 {
		rec.SettledAt = record.Time(settled)
	}
	rec.ReadAt = record.Time(max(now, seen))
	return rec, nil
}

// find looks for a record that has not expired.
func find(ctx context.Context, in session, d semel.Digest, now int64) (rec semel.Record, err error) {
	found := false
	rows, err := in.query(ctx, stmtLookup, d[:])
	err = each(rows, err, func(row *sql.Rows) error {
		rec, err = readRecord(row, now)
		found = err == nil && !record.Expired(&rec)
		return err
	})
	switch {
	case err != nil:
		return semel.Record{}, err
	case !found:
		return semel.Record{}, semel.ErrNotFound
	}
	return rec, nil
}
