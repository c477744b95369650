package pgstore

import (
	"context"
	"time"

	"github.com/semel-dev/semel/internal/waiting"
	"github.com/semel-dev/semel/store/internal/verb"
)

// backoff bounds how often one verb asks the database, in addition to its context.
var backoff = waiting.Backoff{Tries: 32, First: time.Millisecond, Most: 100 * time.Millisecond} //nolint:gochecknoglobals // it is never changed.

// step runs one verb.
func (s *Store) step(ctx context.Context, act string, do func() error) error {
	return s.enter(ctx, act, verb.Reads, do)
}

// write is step for verbs that change something.
func (s *Store) write(ctx context.Context, act string, do func() error) error {
	return s.enter(ctx, act, verb.Writes, do)
}

func (s *Store) enter(ctx context.Context, act string, writes bool, do func() error) error {
	if err := s.gate.Enter(act, writes); err != nil {
		return err
	}
	defer s.gate.Leave()
	return translate(act, tries(ctx, do))
}

// tries runs a verb, and runs it again when the database says that nothing
// happened because of another transaction, and when nothing was sent yet.
func tries(ctx context.Context, do func() error) error {
	return backoff.Do(ctx, passes, do)
}
