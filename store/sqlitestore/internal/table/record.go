package table

import (
	"context"
	"fmt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// Find returns a record that has not expired.
func Find(ctx context.Context, in Session, d semel.Digest, now int64) (semel.Record, error) {
	rec, err := find(ctx, in, d, now)
	switch {
	case err != nil:
		return semel.Record{}, err
	case verb.Absent(rec):
		return semel.Record{}, semel.ErrNotFound
	}
	return *rec, nil
}

// find returns a row, which may have expired; nil where there is none.
func find(ctx context.Context, in Session, d semel.Digest, now int64) (found *semel.Record, err error) {
	err = in.Each(ctx, Lookup, func(row Row) error {
		rec, err := readRecord(row, now)
		found = &rec
		return err
	}, d[:])
	return found, err
}

// readRecord turns a row of lookup.sql or list.sql into a record, read at now
// or at what the row's last column says, whichever is later.
func readRecord(row Row, now int64) (semel.Record, error) {
	var r verb.Row
	var state string
	var attempt, kept, seen int64
	err := row.Scan(&r.Fence, &r.Digest, &state, &attempt, &r.Owner, &r.Fingerprint,
		&r.ClaimedMS, &r.SettledMS, &r.LeaseUntilMS, &r.ExpiresMS, &kept, &r.Scope, &r.Name, &r.Note, &r.Outcome, &seen)
	if err != nil {
		return semel.Record{}, fmt.Errorf("%w (the file was changed by another program?)", err)
	}
	if len(r.Outcome) == 0 {
		r.Outcome = nil
	}
	r.Attempt, r.Kept, r.ReadAtMS = int(attempt), kept != 0, max(now, seen)
	if r.State, err = verb.State(state); err != nil {
		return semel.Record{}, err
	}
	return r.Record()
}

// flag is a truth value as SQLite has it, whatever the driver makes of one.
func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
