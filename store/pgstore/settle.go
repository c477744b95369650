package pgstore

import (
	"context"
	"errors"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/store/internal/verb"
)

// maxOutcomeBytes fits PostgreSQL's bound of 1 GB for a message, even
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
	if err := verb.Settlement("pgstore", v, maxOutcomeBytes, ""); err != nil {
		return err
	}
	v.Note = text(v.Note)
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
	changed, err := s.change(ctx, s.sql["settle"], d[:], verb.Column(f), v.State.String(), v.Kept, v.Outcome, v.Note, v.Retention.Milliseconds())
	if err != nil || changed > 0 {
		return err
	}
	rec, err := s.lookup(ctx, d) // absent where there is none
	if err != nil && !errors.Is(err, semel.ErrNotFound) {
		return err
	}
	done, err := verb.Settle(&rec, f, v)
	if !done && err == nil {
		err = errOvertaken // it could have been made, but not a moment ago
	}
	return err
}
