package verb

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/semel-dev/semel"
)

// Row is a row of a records table as a driver reads it. Times are milliseconds
// of the database's clock; 0 means not settled.
type Row struct {
	Digest, Owner, Fingerprint, Outcome                     []byte
	Fence                                                   int64
	Attempt                                                 int
	State                                                   semel.State
	Kept                                                    bool
	ClaimedMS, SettledMS, LeaseUntilMS, ExpiresMS, ReadAtMS int64
	Scope, Name, Note                                       string
}

// Record returns the record of the row, which shares the memory of Outcome.
func (r *Row) Record() (semel.Record, error) {
	rec := semel.Record{
		Scope:      r.Scope,
		Name:       r.Name,
		State:      r.State,
		Fence:      semel.Fence(r.Fence), //nolint:gosec // checked below.
		Attempt:    r.Attempt,
		Outcome:    r.Outcome,
		Kept:       r.Kept,
		Note:       r.Note,
		ClaimedAt:  Time(r.ClaimedMS),
		LeaseUntil: Time(r.LeaseUntilMS),
		ExpiresAt:  Time(r.ExpiresMS),
		ReadAt:     Time(r.ReadAtMS),
	}
	copied := copy(rec.Digest[:], r.Digest) + copy(rec.Owner[:], r.Owner) + copy(rec.Fingerprint[:], r.Fingerprint)
	if copied != len(rec.Digest)+len(rec.Owner)+len(rec.Fingerprint) || copied != len(r.Digest)+len(r.Owner)+len(r.Fingerprint) || r.Fence <= 0 {
		return semel.Record{}, fmt.Errorf("the row of fence %d is not a record (did another program change the table?)", r.Fence)
	}
	if r.SettledMS != 0 {
		rec.SettledAt = Time(r.SettledMS)
	}
	if rec.Kept && rec.Outcome == nil {
		rec.Outcome = []byte{}
	}
	return rec, nil
}

// Won returns the record that a claim has just written.
func Won(p *semel.ClaimParams, fence, claimedMS int64, attempt int) semel.Record {
	lapses := claimedMS + p.Lease.Milliseconds()
	return semel.Record{
		Digest:      p.Digest,
		Scope:       p.Scope,
		Name:        p.Name,
		Fingerprint: p.Fingerprint,
		State:       semel.StateClaimed,
		Fence:       semel.Fence(fence), //nolint:gosec // fences are positive.
		Owner:       p.Owner,
		Attempt:     attempt,
		ClaimedAt:   Time(claimedMS),
		LeaseUntil:  Time(lapses),
		ExpiresAt:   Time(lapses + p.Retention.Milliseconds()),
		ReadAt:      Time(claimedMS),
	}
}

// Time is a column of milliseconds as records have it.
func Time(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// Column is the fence as tables have it; 0, which no record has, for a number
// that was never given.
func Column(f semel.Fence) int64 {
	if f > math.MaxInt64 {
		return 0
	}
	return int64(f)
}

// State reads the word of a state in a column.
func State[T string | []byte](word T) (semel.State, error) {
	switch string(word) {
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
	return semel.StateAbsent, fmt.Errorf("%w (or another program changed the table: no record is in state %q)", semel.ErrNewerRecord, string(word))
}

// Words lists states for a statement that searches the list for ",word,".
func Words(states []semel.State) string {
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
