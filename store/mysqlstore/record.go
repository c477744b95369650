package mysqlstore

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
)

// graceMS is how long a row stays at least after its claim, even when it was
// released or has expired. A claim takes its fence when its statement begins;
// if the statement is then held up before it looks for the digest, and others
// claim and release the digest with greater fences meanwhile, it must still
// find a row of theirs, and fail. Nothing holds a statement up there for as
// long as that: it waits for no lock yet.
const graceMS = int64(5 * time.Minute / time.Millisecond)

// readRecord turns a row of the columns of columns.sql into a record. It may
// have been released, or have expired: see absent.
func readRecord(rows *sql.Rows) (rec semel.Record, err error) {
	var fence, attempt, claimed, settled, lease, expires, now int64
	err = rows.Scan(&fence, exactly(rec.Digest[:]), (*word)(&rec.State), &rec.Kept, &attempt,
		exactly(rec.Owner[:]), exactly(rec.Fingerprint[:]), &claimed, &settled, &lease, &expires,
		&rec.Scope, &rec.Name, &rec.Note, &rec.Outcome, &now)
	if err != nil {
		return rec, fmt.Errorf("a row is not a record (was the table changed by another program?): %w", err)
	}
	rec.Fence = semel.Fence(fence) //nolint:gosec // fences are positive.
	rec.Attempt = int(attempt)
	if rec.Kept && rec.Outcome == nil {
		rec.Outcome = []byte{}
	}
	rec.ClaimedAt, rec.LeaseUntil, rec.ExpiresAt, rec.ReadAt = fromMS(claimed), fromMS(lease), fromMS(expires), fromMS(now)
	if settled != 0 {
		rec.SettledAt = fromMS(settled)
	}
	return rec, nil
}

// claimedRecord is the record of a claim that was just won.
func claimedRecord(p *semel.ClaimParams, fence, claimedMS int64, attempt int) semel.Record {
	claimed := fromMS(claimedMS)
	return semel.Record{
		Digest:      p.Digest,
		Scope:       p.Scope,
		Name:        p.Name,
		Fingerprint: p.Fingerprint,
		State:       semel.StateClaimed,
		Fence:       semel.Fence(fence), //nolint:gosec // fences are positive.
		Owner:       p.Owner,
		Attempt:     attempt,
		ClaimedAt:   claimed,
		LeaseUntil:  claimed.Add(p.Lease.Truncate(time.Millisecond)),
		ExpiresAt:   claimed.Add(p.Lease.Truncate(time.Millisecond) + p.Retention.Truncate(time.Millisecond)),
		ReadAt:      claimed,
	}
}

// absent reports whether the row is none to every verb.
func absent(rec *semel.Record) bool {
	return rec.State == semel.StateReleased || !rec.ReadAt.Before(rec.ExpiresAt)
}

// repeated reports whether the claim found is the caller's own, whose reply
// was lost.
func repeated(rec *semel.Record, p *semel.ClaimParams) bool {
	return rec.State == semel.StateClaimed && !rec.Lapsed() && rec.Owner == p.Owner && p.Owner != semel.Owner{}
}

// former reports whether the record is the one that the caller may take over.
func former(rec *semel.Record, p *semel.ClaimParams) bool {
	return p.TakeOver != 0 && rec.Fence == p.TakeOver && (rec.State == semel.StateUnknown || rec.Lapsed())
}

// exactly scans bytes of one length.
type exactly []byte

// Scan implements [sql.Scanner].
func (to exactly) Scan(src any) error {
	b, ok := src.([]byte)
	if !ok || len(b) != len(to) {
		return fmt.Errorf("got %T of %d bytes, want %d bytes", src, len(b), len(to))
	}
	copy(to, b)
	return nil
}

// word scans the word of a state.
type word semel.State

// Scan implements [sql.Scanner].
func (w *word) Scan(src any) error {
	b, _ := src.([]byte)
	for _, s := range []semel.State{semel.StateClaimed, semel.StateCompleted, semel.StateReleased, semel.StateUnknown, semel.StateCancelled} {
		if s.String() == string(b) {
			*w = word(s)
			return nil
		}
	}
	return fmt.Errorf("%w (or another program changed the table: no record is in state %q)", semel.ErrNewerRecord, b)
}

func fromMS(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
