package pgstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// maxTries bounds how often one verb asks the database, beside its context.
	maxTries = 32
	// maxPause is the longest pause between two tries.
	maxPause = 100 * time.Millisecond
)

// step runs one verb.
func (s *Store) step(ctx context.Context, act string, do func() error) error {
	if err := s.gate.enter(); err != nil {
		return err
	}
	defer s.gate.leave()
	return translate(act, tries(ctx, do))
}

// tries runs a verb, and runs it again when the database says that nothing
// happened because of somebody else, and when nothing was sent yet.
func tries(ctx context.Context, do func() error) error {
	pause := time.Millisecond
	for try := 1; ; try++ {
		err := do()
		if err == nil {
			return nil
		}
		if !passes(err) || try == maxTries || !sleep(ctx, rand.N(pause)) { //nolint:gosec // spreads load, hides nothing.
			return err
		}
		pause = min(2*pause, maxPause)
	}
}

// write is step for verbs that change something.
func (s *Store) write(ctx context.Context, act string, do func() error) error {
	if s.readOnly {
		return fmt.Errorf("pgstore: %s: %w", act, errReadOnly)
	}
	return s.step(ctx, act, do)
}

// sleep waits; false means that ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
