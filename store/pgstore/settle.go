package pgstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/semel-dev/semel"
)

// maxOutcomeBytes is what fits PostgreSQL's bound of 1 GB for a message, even
// written as hexadecimal digits.
const maxOutcomeBytes = 400 << 20

// Settle implements [semel.Store], in one round trip; what was refused or
// settled before costs a second one, that reads why.
func (s *Store) Settle(ctx context.Context, d semel.Digest, f semel.Fence, v semel.Settlement) error {
	if err := normalize(&v); err != nil {
		return err
	}
	return s.write(ctx, "settle", func() error { return s.settle(ctx, d, f, &v) })
}

// normalize refuses what the database cannot keep, and brings the rest into
// the form in which it keeps it.
func normalize(v *semel.Settlement) error {
	if err := v.Validate(); err != nil {
		return err
	}
	if len(v.Outcome) > maxOutcomeBytes {
		return fmt.Errorf("%w: pgstore: the outcome has %d bytes, at most %d are stored", semel.ErrFull, len(v.Outcome), maxOutcomeBytes)
	}
	v.Kept = v.Kept && v.State == semel.StateCompleted
	v.Note = text(v.Note)
	if v.State == semel.StateReleased {
		v.Outcome, v.Retention = nil, 0
	}
	if len(v.Outcome) == 0 {
		v.Outcome = nil
	}
	return nil
}

// text is the note as a column can hold it: an error's words may be any bytes.
// It grows by no byte.
func text(note string) string {
	if isText(note) {
		return note
	}
	return strings.ToValidUTF8(strings.ReplaceAll(note, "\x00", "?"), "?")
}

func (s *Store) settle(ctx context.Context, d semel.Digest, f semel.Fence, v *semel.Settlement) error {
	tag, err := s.pool.Exec(ctx, s.sql["settle"], d[:], column(f), v.State.String(), v.Kept, v.Outcome, v.Note, v.Retention.Milliseconds())
	if err != nil || tag.RowsAffected() > 0 {
		return err
	}
	rec, err := s.lookup(ctx, d)
	switch {
	case errors.Is(err, semel.ErrNotFound) && v.State == semel.StateReleased:
		return nil
	case errors.Is(err, semel.ErrNotFound):
		return semel.ErrLost
	case err != nil:
		return err
	}
	return refused(&rec, f, v)
}

// refused says why a settlement was not made: nil when it was made before.
func refused(rec *semel.Record, f semel.Fence, v *semel.Settlement) error {
	switch {
	case rec.Fence != f:
		return semel.ErrLost
	case rec.State == v.State && rec.Kept == v.Kept && bytes.Equal(rec.Outcome, v.Outcome):
		return nil
	case rec.State == semel.StateCompleted || rec.State == semel.StateCancelled:
		return semel.ErrSettled
	}
	return errOvertaken // it could have been made, but not a moment ago
}
