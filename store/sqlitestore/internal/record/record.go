// Package record is what the stores in SQLite files decide alike about a
// record, and how they write parts of it.
package record

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/semel-dev/semel"
)

// MaxOutcomeBytes is below what SQLite stores in one row (10^9 bytes).
const MaxOutcomeBytes = 900 << 20

// Repeated reports whether the claim found is the caller's own, whose reply
// was lost.
func Repeated(rec *semel.Record, p *semel.ClaimParams) bool {
	return rec.State == semel.StateClaimed && !rec.Lapsed() && rec.Owner == p.Owner && p.Owner != semel.Owner{}
}

// Settled compares a settlement with the record it is meant for: done when it
// was made before, an error when it cannot be made.
func Settled(rec *semel.Record, f semel.Fence, v *semel.Settlement) (done bool, err error) {
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

// Expired reports whether the record had expired when it was read.
func Expired(rec *semel.Record) bool { return !rec.ReadAt.Before(rec.ExpiresAt) }

// Column is the fence as SQLite stores it; 0, which no record has, for a
// number that was never given.
func Column(f semel.Fence) int64 {
	if f > math.MaxInt64 {
		return 0
	}
	return int64(f)
}

// Time is a column of milliseconds as records have it.
func Time(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// State reads the word of a state.
func State(word string) (semel.State, error) {
	for _, s := range []semel.State{semel.StateClaimed, semel.StateCompleted, semel.StateUnknown, semel.StateCancelled} {
		if s.String() == word {
			return s, nil
		}
	}
	return semel.StateAbsent, fmt.Errorf("%w (or another program changed the file: no record is in state %q)", semel.ErrNewerRecord, word)
}

// Words lists the states the way list.sql looks for them.
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
